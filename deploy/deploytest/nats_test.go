package deploytest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// users are the columns of the permission table, as they stand in nats/daybreak.conf.
var users = []string{"ticker", "recon", "auditor", "operator", "downstream", "admin", "sys"}

// cluster runs NATS servers from the shipped file. Only where they listen and store is another.
type cluster struct {
	ca      *authority
	servers []*server.Server
}

// startCluster starts n servers. The file takes what differs from the environment, which is why such a test does not run in parallel.
func startCluster(t *testing.T, n int) *cluster {
	t.Helper()
	c := &cluster{ca: newAuthority(t)}
	for _, u := range users {
		c.ca.issue(t, u, "daybreak-"+u, false)
	}
	ports := freePorts(t, n)
	var routes []string
	for _, p := range ports {
		routes = append(routes, fmt.Sprintf(`"nats-route://127.0.0.1:%d"`, p))
	}
	for i := range n {
		name := fmt.Sprintf("nats-%d", i+1)
		c.ca.issue(t, name, name, true)
		for k, v := range map[string]string{
			"NATS_NAME": name, "NATS_DATA": filepath.Join(t.TempDir(), "js"), "NATS_CA": c.ca.ca(),
			"NATS_CERT": c.ca.crt(name), "NATS_KEY": c.ca.keyOf(name), "NATS_ROUTES": "[" + strings.Join(routes, ", ") + "]",
		} {
			t.Setenv(k, v)
		}
		opts, err := server.ProcessConfigFile(filepath.Join(deploy, "nats", "daybreak.conf"))
		require.NoError(t, err)
		opts.Host, opts.Port, opts.HTTPHost, opts.HTTPPort = "127.0.0.1", -1, "127.0.0.1", -1
		opts.Cluster.Host, opts.Cluster.Port, opts.NoSigs, opts.NoLog = "127.0.0.1", ports[i], true, true
		if n == 1 { // a server alone; JetStream of a cluster waits for the others
			opts.Cluster, opts.Routes = server.ClusterOpts{}, nil
		}
		s, err := server.NewServer(opts)
		require.NoError(t, err)
		c.servers = append(c.servers, s)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	for _, s := range c.servers {
		require.True(t, s.ReadyForConnections(20*time.Second))
	}
	if n > 1 {
		require.Eventually(t, func() bool {
			for _, s := range c.servers {
				if !s.JetStreamIsCurrent() {
					return false
				}
			}
			return true
		}, 30*time.Second, 50*time.Millisecond, "the servers find each other and choose a leader")
	}
	return c
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

// url names all servers, for nats.url.
func (c *cluster) url(t *testing.T) string {
	t.Helper()
	var out []string
	for _, s := range c.servers {
		u, err := url.Parse(s.ClientURL())
		require.NoError(t, err)
		out = append(out, "tls://"+u.Host)
	}
	return strings.Join(out, ",")
}

// client is one user's connection.
type client struct {
	*nats.Conn
	user string
}

// connect connects as a user, by certificate, with the inbox that the file gives that user.
func (c *cluster) connect(t *testing.T, user string) *client {
	t.Helper()
	nc, err := nats.Connect(c.url(t), nats.RootCAs(c.ca.ca()), nats.ClientCert(c.ca.crt(user), c.ca.keyOf(user)),
		nats.CustomInboxPrefix("_INBOX_"+user), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err, user)
	t.Cleanup(nc.Close)
	return &client{nc, user}
}

// try does something and reports whether the server let it pass: a refusal comes before the answer to the flush, and each
// is an error of its own.
func (c *client) try(t *testing.T, do func() error) bool {
	t.Helper()
	before := c.LastError()
	require.NoError(t, do())
	require.NoError(t, c.FlushTimeout(5*time.Second))
	after := c.LastError()
	return after == before || !errors.Is(after, nats.ErrPermissionViolation) //nolint:errorlint // is it the very same one
}

// Whoever has no certificate of ours, or one that names no user, does not get in.
func TestStrangersStayOutside(t *testing.T) {
	c := startCluster(t, 1)
	c.ca.issue(t, "stranger", "daybreak-stranger", false)
	other := newAuthority(t)
	other.issue(t, "recon", "daybreak-recon", false)
	for name, opts := range map[string][]nats.Option{
		"no certificate":                {},
		"a password instead":            {nats.UserInfo("daybreak-recon", "")},
		"a certificate without a user":  {nats.ClientCert(c.ca.crt("stranger"), c.ca.keyOf("stranger"))},
		"the certificate of a server":   {nats.ClientCert(c.ca.crt("nats-1"), c.ca.keyOf("nats-1"))},
		"recon of another authority":    {nats.ClientCert(other.crt("recon"), other.keyOf("recon"))},
		"recon of another authority, 2": {nats.ClientCert(other.crt("recon"), other.keyOf("recon")), nats.UserInfo("CN=daybreak-recon", "x")},
	} {
		nc, err := nats.Connect(c.url(t), append(opts, nats.RootCAs(c.ca.ca()), nats.Timeout(5*time.Second))...)
		require.Error(t, err, name)
		require.Nil(t, nc, name)
	}
	_, err := nats.Connect(strings.ReplaceAll(c.url(t), "tls://", "nats://"), nats.Timeout(5*time.Second))
	require.Error(t, err, "without TLS")
	for _, u := range users {
		c.connect(t, u)
	}
}
