// Package deploytest holds what is shipped under deploy/ against the real thing: NATS servers run the shipped
// configuration file, the embedded ClickHouse works under the shipped users, and the real program, with the certificate
// and the user of each service, does its whole work. What a user must not do is tried as well.
//
// Checks that need heavy libraries or tools (Compose, Kubernetes, systemd, shellcheck, openssl) are in deploy/check, a module of its own.
package deploytest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const deploy = ".."

var built struct {
	once sync.Once
	file string
	err  error
}

// daybreak builds the program once.
func daybreak(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "daybreak-deploy-")
		if built.err = err; err != nil {
			return
		}
		built.file = filepath.Join(dir, "daybreak")
		cmd := exec.Command("go", "build", "-o", built.file, "daybreak/cmd/daybreak")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, built.err)
	return built.file
}

// output is what a process wrote, safe to look at while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// commandTime bounds one command; each of them ends by itself long before.
const commandTime = 3 * time.Minute

// run runs a command to its end and gives its exit code and standard output.
func run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	var stdout, stderr output
	cmd := exec.CommandContext(ctx, daybreak(t), args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &stdout, &stderr, []string{"HOME=" + t.TempDir()}
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "daybreak %v does not end\n%s%s", args, stdout.String(), stderr.String())
	if err != nil {
		require.NotNil(t, cmd.ProcessState, "%v", err)
		t.Logf("daybreak %v: exit %d\n%s", args, cmd.ProcessState.ExitCode(), stderr.String())
	}
	return cmd.ProcessState.ExitCode(), stdout.String()
}

// fine runs a command that must succeed.
func fine(t *testing.T, args ...string) string {
	t.Helper()
	code, out := run(t, args...)
	require.Zero(t, code, "daybreak %v", args)
	return out
}

// service starts a service, which must stay until the returned stop, and then end well.
func service(t *testing.T, args ...string) (log *output, stop func()) {
	t.Helper()
	log = &output{}
	cmd := exec.Command(daybreak(t), args...)
	cmd.Stderr, cmd.Env = log, []string{"HOME=" + t.TempDir()}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("daybreak %v: %v\n%s", args, err, log)
				}
			case <-time.After(time.Minute):
				_ = cmd.Process.Kill()
				t.Errorf("daybreak %v does not stop\n%s", args, log)
			}
		})
	}
	t.Cleanup(stop)
	return log, stop
}
