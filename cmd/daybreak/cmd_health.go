package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTime bounds the answer to a health check; the service itself takes up to five seconds to ask its engines.
const healthTime = 8 * time.Second

func (c *cli) healthCommand() *cobra.Command {
	live := false
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Ask the service on this machine whether it can do its work",
		Long: "Ask /readyz (with --live: /healthz) of the service that runs with this file on this machine, for containers that have\n" +
			"no curl. Exits 0 when it says so, 1 when it does not or does not answer.",
		Example: "  daybreak healthcheck -f /etc/daybreak/daybreak.yaml\n  daybreak healthcheck --listen 127.0.0.1:7071 --live",
		RunE: func(cmd *cobra.Command, _ []string) error {
			addr := c.listen
			if addr == "" {
				cfg, err := c.load()
				if err != nil {
					return err
				}
				addr = cfg.HTTP.Listen
			}
			path := "/readyz"
			if live {
				path = "/healthz"
			}
			return health(cmd.Context(), addr, path)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask only whether the process lives")
	cmd.Flags().StringVar(&c.listen, "listen", "", "host:port of the service, instead of http.listen of the file")
	return cmd
}

// health asks one path of a service. An address that means every interface is asked on the loopback.
func health(ctx context.Context, addr, path string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usage(fmt.Errorf("--listen %q: %w", addr, err))
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	url := "http://" + net.JoinHostPort(host, port) + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return usage(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, resp.Status, cmp.Or(strings.TrimSpace(string(text)), "(nothing said)"))
	}
	return nil
}
