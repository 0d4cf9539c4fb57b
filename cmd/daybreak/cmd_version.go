package main

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"daybreak/pkg/engine"
)

// shownModules are the libraries whose version matters to somebody who looks for a fault.
var shownModules = []string{
	"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go", "github.com/ClickHouse/clickhouse-go/v2",
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the program and of what it brings along",
		Example: "  daybreak version --format json",
		RunE: func(*cobra.Command, []string) error {
			out := c.rows(column{name: "what"}, column{name: "version"})
			for _, v := range versions() {
				if err := out.add(v[0], v[1]); err != nil {
					return err
				}
			}
			return out.end()
		},
	}
}

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

// mainVersion is the version of the program.
func mainVersion() string { return cmp.Or(buildInfo().Main.Version, "(unknown)") }

func versions() [][2]string {
	out := [][2]string{}
	info := buildInfo()
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	out = append(out, [2]string{"daybreak", mainVersion()})
	if rev := settings["vcs.revision"]; rev != "" {
		if settings["vcs.modified"] == "true" {
			rev += " (modified)"
		}
		out = append(out, [2]string{"revision", rev}, [2]string{"revision time", settings["vcs.time"]})
	}
	out = append(out, [2]string{"go", runtime.Version()}, [2]string{"platform", runtime.GOOS + "/" + runtime.GOARCH},
		[2]string{"chdb library", engine.LibVersion})
	for _, path := range shownModules {
		for _, dep := range info.Deps {
			if dep.Path == path {
				out = append(out, [2]string{path, dep.Version})
			}
		}
	}
	return out
}
