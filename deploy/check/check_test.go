// Package check holds the files under deploy/ against the loaders of those who will read them: Compose, Kubernetes,
// systemd, the shell. A tool that is missing fails the test and the message names how to get it; nothing is skipped.
package check

import (
	"bytes"
	"context"
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const deploy = ".."

var update = flag.Bool("update", false, "write kustomize/base/rules.yaml anew")

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{deploy}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// tool finds a program or says how to get it.
func tool(t *testing.T, name, install string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing; get it with: %s", name, install)
	}
	return path
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", cmd, out)
	return string(out)
}

func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	dir := filepath.Join(deploy, "compose")
	o, err := cli.NewProjectOptions([]string{filepath.Join(dir, "compose.yaml")}, cli.WithWorkingDirectory(dir),
		cli.WithEnvFiles(filepath.Join(dir, ".env")), cli.WithDotEnv, cli.WithResolvedPaths(true), cli.WithInterpolation(true))
	require.NoError(t, err)
	project, err := o.LoadProject(context.Background())
	require.NoError(t, err)
	return project
}

func TestCompose(t *testing.T) {
	secrets := filepath.Join(deploy, "compose", "secrets")
	if _, err := os.Stat(secrets); os.IsNotExist(err) { // env_file must be there; make-secrets.sh has its own test
		require.NoError(t, os.Mkdir(secrets, 0o700))
		t.Cleanup(func() { _ = os.RemoveAll(secrets) })
		for _, name := range []string{"clickhouse.env", "grafana.env"} {
			require.NoError(t, os.WriteFile(filepath.Join(secrets, name), nil, 0o600))
		}
	}
	p := loadCompose(t)
	count := map[string]int{}
	for name, s := range p.Services {
		kind, _, _ := strings.Cut(name, "-")
		count[kind]++
		require.Regexp(t, `:[^:]*[0-9a-z]`, s.Image, "%s: the image is pinned", name)
		require.NotRegexp(t, `:latest$`, s.Image)
		require.Positive(t, int64(s.MemLimit), "%s has a memory limit", name)
		require.NotNil(t, s.HealthCheck, "%s has a health check", name)
		require.False(t, s.Privileged)
		for key, value := range s.Environment {
			require.False(t, regexp.MustCompile(`(?i)password|secret|token`).MatchString(key) && value != nil && *value != "", "%s: %s is in the file", name, key)
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind || strings.Contains(v.Source, "/secrets/") || strings.HasSuffix(v.Source, "/books") {
				continue
			}
			_, err := os.Stat(v.Source)
			require.NoError(t, err, "%s mounts what is not there", name)
		}
	}
	require.Equal(t, map[string]int{
		"nats": 3, "keeper": 1, "clickhouse": 1, "init": 1, "ticker": 2, "recon": 3, "auditor": 2, "prometheus": 1, "alertmanager": 1, "grafana": 1,
	}, count)
	for _, target := range regexp.MustCompile(`"([a-z0-9-]+):7070"`).FindAllStringSubmatch(read(t, "prometheus", "prometheus.yml"), -1) {
		require.Contains(t, p.Services, target[1], "Prometheus scrapes a service that is not there")
	}
}

// The loader does find faults: a good file that is spoilt is refused.
func TestComposeLoaderIsStrict(t *testing.T) {
	for _, spoil := range [][2]string{{"healthcheck:\n    test: [\"CMD\", \"/daybreak\"", "healthchek:\n    test: [\"CMD\", \"/daybreak\""}, {"    init: { condition", "    inti: { condition"}} {
		text := read(t, "compose", "compose.yaml")
		require.Contains(t, text, spoil[0])
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte(strings.Replace(text, spoil[0], spoil[1], 1)), 0o600))
		o, err := cli.NewProjectOptions([]string{filepath.Join(dir, "compose.yaml")}, cli.WithWorkingDirectory(dir), cli.WithEnvFiles(filepath.Join(deploy, "compose", ".env")), cli.WithDotEnv)
		require.NoError(t, err)
		_, err = o.LoadProject(context.Background())
		require.Error(t, err, spoil[1])
	}
}

func TestMakeSecrets(t *testing.T) {
	shellcheck := tool(t, "shellcheck", "apt-get install shellcheck")
	tool(t, "openssl", "apt-get install openssl")
	script, err := filepath.Abs(filepath.Join(deploy, "compose", "make-secrets.sh"))
	require.NoError(t, err)
	require.Empty(t, output(t, exec.Command(shellcheck, script)))
	dir := t.TempDir()
	output(t, exec.Command("sh", script, dir))
	before := tree(t, dir)
	output(t, exec.Command("sh", script, dir))
	require.Equal(t, before, tree(t, dir), "nothing is made twice")

	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(before["authority/ca.crt"])))
	conf := read(t, "nats", "daybreak.conf")
	for _, user := range regexp.MustCompile(`user: "CN=daybreak-([a-z]+)"`).FindAllStringSubmatch(conf, -1) {
		c := certificate(t, before[user[1]+"/nats.crt"])
		require.Equal(t, "CN=daybreak-"+user[1], c.Subject.String())
		_, err := c.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		require.NoError(t, err)
		_, err = c.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		require.Error(t, err, "a user's certificate makes no server")
	}
	for _, host := range []string{"nats-1", "nats-2", "nats-3", "clickhouse-1"} {
		_, err := certificate(t, before[host+"/server.crt"]).Verify(x509.VerifyOptions{Roots: pool, DNSName: host})
		require.NoError(t, err)
	}
	users := read(t, "clickhouse", "users.d", "daybreak.xml") + read(t, "clickhouse", "config.d", "daybreak.xml")
	for _, name := range regexp.MustCompile(`from_env="(CH_[A-Z0-9_]+(?:SHA256|SECRET|PASSWORD))"`).FindAllStringSubmatch(users, -1) {
		require.Regexp(t, `(?m)^`+name[1]+`=[0-9a-f]{48,64}$`, before["clickhouse.env"])
	}
	info, err := os.Stat(filepath.Join(dir, "secrets"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "secrets"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(filepath.Join(dir, "secrets"), path)
		out[rel] = string(text)
		return err
	}))
	return out
}

func certificate(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	require.NotNil(t, block)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return c
}

// strict decodes every document of a stream with the schemas of Kubernetes and of the Prometheus operator.
func strict(t *testing.T, text string) (out []runtime.Object) {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(s))
	require.NoError(t, monitoring.AddToScheme(s))
	decoder := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		o, _, err := decoder.Decode([]byte(doc), nil, nil)
		require.NoError(t, err, doc)
		out = append(out, o)
	}
	return out
}

func kustomize(t *testing.T, dir string) string {
	t.Helper()
	return output(t, exec.Command("go", "tool", "kustomize", "build", filepath.Join(deploy, "kustomize", dir)))
}

func TestKubernetes(t *testing.T) {
	for _, dir := range []string{"base", "overlays/example"} {
		text := kustomize(t, dir)
		kinds := map[string]int{}
		for _, o := range strict(t, text) {
			kinds[o.GetObjectKind().GroupVersionKind().Kind]++
			switch o := o.(type) {
			case *appsv1.Deployment:
				pod(t, o.Name, o.Spec.Template.Spec)
				require.Equal(t, o.Spec.Selector.MatchLabels["app.kubernetes.io/component"], o.Spec.Template.Labels["app.kubernetes.io/component"])
				require.NotNil(t, o.Spec.Template.Spec.Containers[0].ReadinessProbe)
				require.NotNil(t, o.Spec.Template.Spec.Containers[0].LivenessProbe)
			case *batchv1.Job:
				pod(t, o.Name, o.Spec.Template.Spec)
			}
		}
		want := map[string]int{"ServiceAccount": 1, "ConfigMap": 1, "Deployment": 3, "PodDisruptionBudget": 3, "Job": 1, "NetworkPolicy": 1, "PodMonitor": 1, "PrometheusRule": 1}
		if dir != "base" {
			want["PersistentVolumeClaim"] = 1
		}
		require.Equal(t, want, kinds)
	}
	_, _, err := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer().Decode(
		[]byte(strings.Replace(strings.Split(read(t, "kustomize", "base", "recon.yaml"), "\n---\n")[0], "readinessProbe:", "readinesProbe:", 1)), nil, nil)
	require.ErrorContains(t, err, "readinesProbe", "the decoder does find faults")
}

// pod holds what every pod of ours must be.
func pod(t *testing.T, name string, p corev1.PodSpec) {
	t.Helper()
	require.True(t, *p.SecurityContext.RunAsNonRoot, name)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, p.SecurityContext.SeccompProfile.Type, name)
	require.False(t, *p.AutomountServiceAccountToken, name)
	c := p.Containers[0]
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, name)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, name)
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	require.GreaterOrEqual(t, i, 0, name)
	limit := c.Resources.Limits.Memory().Value()
	mib := regexp.MustCompile(`^([0-9]+)MiB$`).FindStringSubmatch(c.Env[i].Value)
	require.NotNil(t, mib)
	var soft int64
	for _, r := range mib[1] {
		soft = soft*10 + int64(r-'0')
	}
	require.InDelta(t, 0.85, float64(soft<<20)/float64(limit), 0.01, "%s: GOMEMLIMIT against the limit", name)
	mounts := map[string]bool{}
	for _, v := range p.Volumes {
		mounts[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		require.True(t, mounts[m.Name], "%s mounts %s", name, m.Name)
	}
}

// The rules in the cluster are those of deploy/prometheus.
func TestRulesAreTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(deploy, "prometheus", "rules", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	slices.Sort(files)
	var spec struct {
		Groups []any `json:"groups"`
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		var one struct {
			Groups []any `json:"groups"`
		}
		require.NoError(t, yaml.UnmarshalStrict(text, &one))
		spec.Groups = append(spec.Groups, one.Groups...)
	}
	made, err := yaml.Marshal(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": map[string]any{"name": "daybreak"}, "spec": spec,
	})
	require.NoError(t, err)
	made = append([]byte("# Made from deploy/prometheus/rules by: go test -run TestRulesAreTheSame -update . in deploy/check\n"), made...)
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(deploy, "kustomize", "base", "rules.yaml"), made, 0o644))
	}
	require.Equal(t, string(made), read(t, "kustomize", "base", "rules.yaml"), "run the test with -update")
}

// systemd reads every unit without a word, and finds little that a service could do beyond its work.
func TestUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "apt-get install systemd")
	for _, name := range []string{"ticker", "recon", "auditor"} {
		file := "daybreak-" + name + ".service"
		text := strings.ReplaceAll(read(t, "systemd", file), "/usr/local/bin/daybreak", "/bin/true") // verify wants the program to be there
		path := filepath.Join(t.TempDir(), file)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.Empty(t, output(t, exec.Command(analyze, "verify", path)), "verify says nothing about a good unit, and exits 0 for a bad one")
		output(t, exec.Command(analyze, "security", "--offline=true", "--threshold=15", path))

		bad := strings.Replace(text, "NoNewPrivileges", "NoNewPrivilege", 1)
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		out, _ := exec.Command(analyze, "verify", path).CombinedOutput()
		require.Contains(t, string(out), "NoNewPrivilege")
	}
}

// The steps of the Dockerfile, done here: the program is built without cgo and runs with nothing but what the base image
// has. It is linked against glibc's own libraries (for the embedded engine, should it be asked for), so the image without
// any library would not do.
func TestDockerfile(t *testing.T) {
	text := read(t, "Dockerfile")
	require.LessOrEqual(t, strings.Count(text, "\n"), 15)
	require.Contains(t, text, "FROM gcr.io/distroless/base-nossl-debian12:nonroot")
	require.Contains(t, text, "golang:"+goLine(t)+".")
	build := regexp.MustCompile(`RUN CGO_ENABLED=0 go build (.*) -o /daybreak (\S+)`).FindStringSubmatch(text)
	require.NotNil(t, build)
	program := filepath.Join(t.TempDir(), "daybreak")
	args := []string{"build", "-o", program}
	for _, f := range strings.Fields(build[1]) {
		args = append(args, strings.ReplaceAll(f, `"`, ""))
	}
	if i := slices.IndexFunc(args, func(s string) bool { return strings.HasPrefix(s, "-ldflags=") }); i >= 0 {
		args = append(args[:i], "-ldflags=-s -w")
	}
	cmd := exec.Command("go", append(args, build[2])...)
	cmd.Dir, cmd.Env = filepath.Join(deploy, ".."), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	output(t, cmd)
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // read only
	libraries, err := f.ImportedLibraries()
	require.NoError(t, err)
	require.Subset(t, []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}, libraries, "the base image has these and no others")
	alone := exec.Command(program, "version", "--format", "csv")
	alone.Env = []string{}
	require.Contains(t, output(t, alone), "daybreak")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	var stderr bytes.Buffer
	sick := exec.Command(program, "healthcheck", "--listen", l.Addr().String())
	sick.Stderr = &stderr
	require.Error(t, sick.Run(), "nobody listens there")
	require.Contains(t, stderr.String(), "no answer")
}

// goLine is the line of Go releases that builds here: 1.26 of go1.26.8.
func goLine(t *testing.T) string {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(output(t, exec.Command("go", "env", "GOVERSION"))), "go"), ".")
	return parts[0] + "." + parts[1]
}
