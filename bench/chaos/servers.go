package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serverVerb, as first argument, makes this program one NATS server. The second is a file that says which.
const serverVerb = "nats-server"

// serverPlan is one server of the cluster.
type serverPlan struct {
	Name                  string
	Store                 string
	Client, Peer, Monitor int
	Peers                 []int
}

// runServer is a NATS server until it is told to end.
func runServer(file string) int {
	var p serverPlan
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	o := &server.Options{
		ServerName: p.Name, Host: "127.0.0.1", Port: p.Client, HTTPHost: "127.0.0.1", HTTPPort: p.Monitor,
		JetStream: true, StoreDir: p.Store, JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 64 << 20, // limits of streams are reservations
		// Clients must not learn of the servers themselves: they would go around their proxies.
		Cluster: server.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: p.Peer, NoAdvertise: true},
		NoSigs:  true,
	}
	for _, port := range p.Peers {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s.ConfigureLogger()
	s.Start()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
	s.Shutdown()
	s.WaitForShutdown()
	return 0
}

// planServers gives three servers their ports and folders. A folder may be replaced by a small file system.
func planServers(dir string, ports []int) (out []serverPlan) {
	peers := ports[3:6]
	for i := range 3 {
		name := fmt.Sprint("nats-", i+1)
		out = append(out, serverPlan{
			Name: name, Store: filepath.Join(dir, name), Client: ports[i], Peer: peers[i], Monitor: ports[6+i], Peers: peers,
		})
	}
	return out
}

func (p serverPlan) url() string { return fmt.Sprint("nats://127.0.0.1:", p.Client) }

// well says that the server is up and that its JetStream works.
func (p serverPlan) well() bool {
	c := http.Client{Timeout: time.Second}
	r, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz?js-enabled-only=true", p.Monitor))
	if err != nil {
		return false
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode == http.StatusOK
}

func (p serverPlan) write(dir string) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, p.Name+".json")
	return file, os.WriteFile(file, text, 0o600)
}
