package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// Config is a whole configuration. Every field is set: what the file leaves out has its default. Paths are absolute,
// except those of sources, which may hold patterns and are resolved against Root by package source.
type Config struct {
	Path       string // of the file
	Root       string // the folder of the file: what relative paths are relative to
	NATS       NATS
	ClickHouse ClickHouse
	DataDir    string // for what Daybreak keeps on this machine
	HTTP       HTTP
	Lease      Lease
	Recon      Recon
	Retention  Retention
	Tracing    Tracing
	Prepared   bool  // streams, bucket, consumer and tables are laid out by `daybreak init`; services only look whether they are there
	Jobs       []Job // at least one, in the order of the file, names unique

	files []fileRef // named in the file, see CheckFiles
}

// NATS says where the message server is.
type NATS struct {
	URL          string // Embedded, or servers separated by commas; may hold user and password, see Address
	Creds        string // credentials file
	User         string
	PasswordFile string
	TLS          TLS
	TLSFirst     bool   // TLS handshake before the server's greeting
	InboxPrefix  string // of the subjects that answers come on, "" for the usual _INBOX
	Replicas     int    // of streams: 1, 3 or 5
}

// Embedded reports whether the server is brought along.
func (n NATS) Embedded() bool { return n.URL == Embedded }

// Address is the URL for logs and messages, without user, password and parameters.
func (n NATS) Address() string { return redact(n.URL) }

// Password reads the password file: "" when none is named. A line end at its end is no part of the password.
func (n NATS) Password() (string, error) { return readSecret(n.PasswordFile) }

// ClickHouse says where the database is.
type ClickHouse struct {
	URL          string // Embedded, clickhouse://, http:// or https://; may hold user and password, see Address
	User         string
	UserFile     string // holds the user instead of User, as a mounted secret does
	PasswordFile string
	Database     string
	Cluster      string // name of the cluster for ON CLUSTER, "" for a single server
	TLS          TLS
}

// Embedded reports whether the database is brought along.
func (c ClickHouse) Embedded() bool { return c.URL == Embedded }

// Address is the URL for logs and messages, without user, password and parameters.
func (c ClickHouse) Address() string { return redact(c.URL) }

// Secure reports whether the connection is encrypted: https://, secure=true in the URL, or files under tls.
func (c ClickHouse) Secure() bool {
	_, params, _ := strings.Cut(c.URL, "?")
	values, _ := url.ParseQuery(params) // checked when the file was read
	return strings.HasPrefix(c.URL, "https://") || values.Get("secure") == "true" || !c.TLS.Empty()
}

// Password reads the password file: "" when none is named. A line end at its end is no part of the password.
func (c ClickHouse) Password() (string, error) { return readSecret(c.PasswordFile) }

// UserName is the user, from its file where one is named.
func (c ClickHouse) UserName() (string, error) {
	if c.UserFile == "" {
		return c.User, nil
	}
	text, err := os.ReadFile(c.UserFile)
	if err != nil {
		return "", fmt.Errorf("reading a user name: %w; check user_file in the configuration", err)
	}
	name := strings.TrimSpace(string(text))
	if name == "" {
		return "", fmt.Errorf("%s holds no user name; write it into the first line", c.UserFile)
	}
	return name, nil
}

// TLS names the files of a TLS client, "" for each that is not used.
type TLS struct{ CA, Cert, Key string }

// Empty reports whether nothing is named.
func (t TLS) Empty() bool { return t == TLS{} }

// HTTP says where metrics, health and the console are served.
type HTTP struct {
	Listen string // host:port
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint string // of a collector that takes OTLP over HTTP; "" switches tracing off
}

// Lease tunes the right to work on a day.
type Lease struct {
	TTL time.Duration // whole seconds
}

// Recon tunes the reconciling service.
type Recon struct {
	Workers int // days in parallel in one process
}

// Retention says how long superseded results are kept.
type Retention struct {
	Grace time.Duration // longer than any query
}

// Job is a reconciliation with its two sources.
type Job struct {
	model.Job
	Ledger  source.Spec
	Channel source.Spec
}

// Source returns the source of one side.
func (j Job) Source(side model.Side) source.Spec {
	if side == model.Ledger {
		return j.Ledger
	}
	return j.Channel
}

// Job returns the job of that name.
func (c *Config) Job(name string) (Job, bool) {
	for _, j := range c.Jobs {
		if j.Name == name {
			return j, true
		}
	}
	return Job{}, false
}

// ModelJobs returns the jobs without their sources.
func (c *Config) ModelJobs() []model.Job {
	out := make([]model.Job, len(c.Jobs))
	for i, j := range c.Jobs {
		out[i] = j.Job
	}
	return out
}

// Load reads and checks a configuration file. Its error is always an [*Errors] with every problem of the file, and then
// the configuration is nil.
func Load(path string) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	f, err := os.Open(abs)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(f, sizeMax+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return decode(path, abs, text)
}

func unreadable(path string, err error) error {
	why := err
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		why = pathErr.Err
	}
	return &Errors{cause: err, Problems: []Problem{{
		File: path, What: "cannot be read: " + why.Error(),
		Fix: "check the path and its permissions",
	}}}
}

// decode turns the text of the file into a configuration. shown is the path as the user gave it, for messages.
func decode(shown, path string, text []byte) (*Config, error) {
	root, bad := parse(shown, text)
	if bad != nil {
		return nil, &Errors{Problems: []Problem{*bad}}
	}
	d := &decoder{file: shown}
	c := &Config{Path: path, Root: filepath.Dir(path)}
	d.config(root, c)
	if err := collect(d.problems); err != nil {
		return nil, err
	}
	c.files = d.files
	return c, nil
}

// config reads the top of the file.
func (d *decoder) config(root *yaml.Node, c *Config) {
	*c = Config{
		Path: c.Path, Root: c.Root, DataDir: filepath.Join(c.Root, "data"),
		NATS:       NATS{URL: Embedded, Replicas: 1},
		ClickHouse: ClickHouse{URL: Embedded, Database: "daybreak"},
		HTTP:       HTTP{Listen: "127.0.0.1:7070"},
		Lease:      Lease{TTL: 30 * time.Second}, Recon: Recon{Workers: 2}, Retention: Retention{Grace: 24 * time.Hour},
	}
	top, ok := cursor{d: d, node: resolve(root)}.object("begin with jobs:",
		"nats", "clickhouse", "setup", "data", "http", "lease", "recon", "retention", "tracing", "jobs")
	if !ok {
		return
	}
	d.engines(top, c)
	top.need("jobs", "list at least one job", func(at cursor) { c.Jobs = readJobs(at) })
}

// Find says which configuration file to use: the one named by the flag, else the one named by the environment, else
// daybreak.yaml in the current folder. Its error wraps [ErrNoFile] and names all three places. Whether a file that is
// named exists is left to [Load], so that a name which is wrong is not passed over for another file.
func Find(flag, env string) (string, error) {
	const local = "./daybreak.yaml"
	switch {
	case flag != "":
		return flag, nil
	case env != "":
		return env, nil
	}
	if _, err := os.Stat(local); err != nil {
		return "", fmt.Errorf("%w: -f is not given, DAYBREAK_CONFIG is not set and %s cannot be read (%w); give one of them",
			ErrNoFile, local, err)
	}
	return local, nil
}

// readSecret reads a secret from its file.
func readSecret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading a password: %w; check password_file in the configuration", err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("%s holds no password; write it into the first line", path)
	}
	return secret, nil
}
