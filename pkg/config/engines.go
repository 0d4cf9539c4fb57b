package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// engines reads everything but the jobs.
func (d *decoder) engines(top object, c *Config) {
	top.opt("nats", func(at cursor) { d.nats(at, c.Root, &c.NATS) })
	top.opt("clickhouse", func(at cursor) { d.clickhouse(at, c.Root, &c.ClickHouse) })
	top.opt("setup", into(&c.Prepared, parseSetup))
	if c.Prepared && len(d.problems) == 0 && (c.NATS.Embedded() || c.ClickHouse.Embedded()) {
		top.values["setup"].fail("the embedded engines are laid out by the process that runs them", "remove setup, or set nats.url and clickhouse.url")
	}
	top.opt("data", func(at cursor) {
		if dir, ok := scalar(at, parseText); ok {
			c.DataDir = under(c.Root, dir)
		}
	})
	top.opt("http", func(at cursor) {
		o, _ := at.object("write http: { listen: 127.0.0.1:7070 }", "listen")
		o.opt("listen", into(&c.HTTP.Listen, parseListen))
	})
	top.opt("tracing", func(at cursor) {
		o, _ := at.object("write tracing: { endpoint: http://127.0.0.1:4318 }", "endpoint")
		o.need("endpoint", "name the collector, such as http://127.0.0.1:4318", into(&c.Tracing.Endpoint, parseCollector))
	})
	top.opt("lease", func(at cursor) {
		o, _ := at.object("write lease: { ttl: 30s }", "ttl")
		o.opt("ttl", into(&c.Lease.TTL, parseLeaseTTL))
	})
	top.opt("recon", func(at cursor) {
		o, _ := at.object("write recon: { workers: 2 }", "workers")
		o.opt("workers", into(&c.Recon.Workers, countFrom(1, 256)))
	})
	top.opt("retention", func(at cursor) {
		o, _ := at.object("write retention: { grace: 24h }", "grace")
		o.opt("grace", into(&c.Retention.Grace, durationFrom(time.Minute)))
	})
}

func (d *decoder) nats(at cursor, root string, n *NATS) {
	o, ok := at.object("write nats: { url: embedded }",
		"url", "creds", "user", "password_file", "tls", "tls_first", "inbox_prefix", "replicas")
	if !ok {
		return
	}
	o.opt("url", into(&n.URL, parseNATSURL))
	o.opt("creds", d.readFile(root, &n.Creds))
	o.opt("user", into(&n.User, parseText))
	o.opt("password_file", d.readFile(root, &n.PasswordFile))
	o.opt("tls", func(at cursor) { d.tls(at, root, &n.TLS) })
	o.opt("tls_first", into(&n.TLSFirst, parseBool))
	o.opt("inbox_prefix", into(&n.InboxPrefix, parseInboxPrefix))
	o.opt("replicas", into(&n.Replicas, parseReplicas))
	if n.Embedded() {
		o.onlyExternal("creds", "user", "password_file", "tls", "tls_first", "inbox_prefix")
		if n.Replicas > 1 {
			o.values["replicas"].fail("the embedded server is one server and keeps one copy", "remove replicas, or set url")
		}
	}
	o.together("user", "password_file")
	o.oneUser(n.URL, "creds", "user")
}

// parseSetup reads who lays out streams and tables.
func parseSetup(text string) (prepared bool, bad *fault) {
	switch text {
	case "self", "init":
		return text == "init", nil
	}
	return false, &fault{fmt.Sprintf("%q is not known", text), "write self (every process lays out what is missing) or init (only daybreak init does)"}
}

var inboxPrefix = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// parseInboxPrefix reads the beginning of a subject: tokens without wildcards.
func parseInboxPrefix(text string) (string, *fault) {
	if !inboxPrefix.MatchString(text) {
		return "", &fault{fmt.Sprintf("%q cannot begin a subject", text), "use letters, digits, _ and -, such as _INBOX_recon"}
	}
	return text, nil
}

// parseReplicas reads how many servers keep a stream: an odd number, as an even one adds cost and no safety.
func parseReplicas(text string) (int, *fault) {
	n, bad := countFrom(1, 5)(text)
	if bad != nil || n%2 == 0 {
		return 0, &fault{"must be 1, 3 or 5", "write one of them"}
	}
	return n, nil
}

func (d *decoder) clickhouse(at cursor, root string, c *ClickHouse) {
	o, ok := at.object("write clickhouse: { url: embedded }",
		"url", "user", "user_file", "password_file", "database", "cluster", "tls")
	if !ok {
		return
	}
	o.opt("url", into(&c.URL, parseClickHouseURL))
	o.opt("user", into(&c.User, parseText))
	o.opt("user_file", d.readFile(root, &c.UserFile))
	o.opt("password_file", d.readFile(root, &c.PasswordFile))
	o.opt("database", into(&c.Database, parseIdentifier))
	o.opt("cluster", into(&c.Cluster, parseIdentifier))
	o.opt("tls", func(at cursor) { d.tls(at, root, &c.TLS) })
	if c.Embedded() {
		o.onlyExternal("user", "user_file", "password_file", "cluster", "tls")
	}
	if o.has("password_file") && !o.has("user") && !o.has("user_file") {
		o.values["password_file"].fail("is given without user", "add user")
	}
	o.oneUser(c.URL, "user", "user_file")
	if strings.HasPrefix(c.URL, "http://") && o.has("tls") {
		o.values["tls"].fail("http:// is not encrypted", "write https:// in url, or remove tls")
	}
}

func (d *decoder) tls(at cursor, root string, t *TLS) {
	o, ok := at.object("write tls: { ca: ca.pem }, with cert and key for a client certificate", "ca", "cert", "key")
	if !ok {
		return
	}
	o.opt("ca", d.readFile(root, &t.CA))
	o.opt("cert", d.readFile(root, &t.Cert))
	o.opt("key", d.readFile(root, &t.Key))
	o.together("cert", "key")
}

// onlyExternal refuses keys that say how to reach a server which is not external: somebody forgot the url, and would
// otherwise fill an engine of their own unawares.
func (o object) onlyExternal(keys ...string) {
	if url, given := o.values["url"]; given && url.node.Value != Embedded {
		return // the url is wrong and was reported; the other keys may be right
	}
	for _, key := range keys {
		o.opt(key, func(c cursor) {
			c.fail("only an external server has it, and url is embedded", "set url, or remove the key")
		})
	}
}

// together refuses one of two keys without the other.
func (o object) together(a, b string) {
	for _, k := range [][2]string{{a, b}, {b, a}} {
		if o.has(k[0]) && !o.has(k[1]) {
			o.values[k[0]].fail("is given without "+k[1], "add "+k[1])
		}
	}
}

// oneUser refuses a second way to say who connects: in the url or by one of the keys.
func (o object) oneUser(url string, keys ...string) {
	first := ""
	if hasUser(url) {
		first = "a user in url"
	}
	for _, key := range keys {
		if o.has(key) && first != "" {
			o.values[key].fail(first+" is given too", "keep one of them")
		}
		if o.has(key) {
			first = key
		}
	}
}

// parseCollector reads the address of a collector of traces.
func parseCollector(text string) (string, *fault) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", &fault{fmt.Sprintf("%q is not the address of a collector", text), "write http://host:port or https://host:port, such as http://127.0.0.1:4318"}
	}
	return text, nil
}
