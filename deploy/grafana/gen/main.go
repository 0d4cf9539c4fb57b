// Command gen writes Daybreak's Grafana dashboards and the page of the documentation about them.
//
//	go run .    # in deploy/grafana/gen; writes ../dashboards and docs/dashboards.md
//
// The package boards holds what is in them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"daybreak/deploy/grafana/gen/boards"
)

func main() {
	if err := write(filepath.Join("..", "dashboards")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Grafana runs as another user
		return err
	}
	for _, b := range boards.Boards() {
		text, err := b.JSON()
		if err != nil {
			return fmt.Errorf("dashboard %s: %w", b.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, b.Name+".json"), text, 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return os.WriteFile(filepath.Join("..", "..", "..", "docs", "dashboards.md"), []byte(boards.Page()), 0o644) //nolint:gosec // as above
}
