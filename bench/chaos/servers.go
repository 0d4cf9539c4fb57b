package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
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

// config is the server's own. Clients must not learn of the servers themselves: they would go around their proxies. The limits
// of streams are reservations, so the server claims more than there is.
func (p serverPlan) config() string {
	var routes []string
	for _, port := range p.Peers {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	return fmt.Sprintf(`server_name: %s
listen: 127.0.0.1:%d
http: 127.0.0.1:%d
jetstream { store_dir: %q, max_file_store: 64GB, max_memory_store: 64MB }
cluster { name: chaos, listen: 127.0.0.1:%d, no_advertise: true, routes: [ %s ] }
accounts {
  SYS { users: [ { user: %s, password: %s } ] }
  APP { jetstream: enabled, users: [ { user: app, password: app } ] }
}
system_account: SYS
no_auth_user: app
`, p.Name, p.Client, p.Monitor, p.Store, p.Peer, strings.Join(routes, ", "), sysUser, sysUser)
}

// sysUser may send the leader of the cluster away.
const sysUser = "sys"

// runServer is a NATS server until it is told to end.
func runServer(file string) int {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	o.NoSigs = true
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
	file := filepath.Join(dir, p.Name+".conf")
	return file, os.WriteFile(file, []byte(p.config()), 0o600)
}
