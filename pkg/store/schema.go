package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// SchemaVersion is the layout that this program reads and writes.
const SchemaVersion uint32 = 1

//go:embed schema.sql
var schemaText string

// DDL returns the statements that lay out the tables and views, in order: for one server when cluster is "", else for
// every replica of that cluster. The cluster must have one shard.
func DDL(cluster string) ([]string, error) {
	window := "non_replicated_deduplication_window = 1000"
	on := ""
	if cluster != "" {
		window = "replicated_deduplication_window = 10000"
		on = " ON CLUSTER " + quoteName(cluster)
	}
	t, err := template.New("schema").Funcs(template.FuncMap{
		"cluster": func() string { return on },
		"window":  func() string { return window },
		"engine": func(kind, table string) string {
			if cluster == "" {
				return kind
			}
			return "Replicated" + kind + "('/clickhouse/tables/{shard}/{database}/" + table + "', '{replica}')"
		},
	}).Parse(schemaText)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := t.Execute(&text, nil); err != nil {
		return nil, err
	}
	return statements(text.String()), nil
}

// statements splits the schema text at the semicolons that end a line and drops the comment lines.
func statements(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";\n") {
		var lines []string
		for line := range strings.SplitSeq(part, "\n") {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		if s := strings.TrimSpace(strings.Join(lines, "\n")); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func quoteName(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

func (s *Store) layOut(ctx context.Context, o Options) error {
	if !o.Prepared {
		return s.applySchema(ctx, o.Cluster)
	}
	found, err := Layout(ctx, s.conn)
	switch {
	case err != nil:
		return err
	case found > SchemaVersion:
		return newer(found)
	case found < SchemaVersion:
		return fmt.Errorf("layout %d, this program needs %d: %w", found, SchemaVersion, ErrNotLaidOut)
	}
	return nil
}

// newer refuses tables of a newer program.
func newer(found uint32) error {
	return fmt.Errorf("the tables have layout %d, this program knows layout %d at most: use the program that laid them out, or a newer one "+
		"(daybreak version), or restore a backup of before the upgrade: %w", found, SchemaVersion, ErrSchemaNewer)
}

const codeUnknownTable = 60

// Layout reads which version of the layout the tables have; 0 when there are none. Nothing is changed.
func Layout(ctx context.Context, conn driver.Conn) (uint32, error) {
	var found uint32
	err := conn.QueryRow(ctx, "SELECT max(version) FROM schema_version").Scan(&found)
	var ex *clickhouse.Exception
	if errors.As(err, &ex) && (ex.Code == codeUnknownTable || ex.Code == codeUnknownDatabase) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return found, nil
}

// applySchema lays out what is missing and refuses tables of a newer program. It is harmless when repeated or run by
// several processes at once. The first statement is the table that holds the version.
func (s *Store) applySchema(ctx context.Context, cluster string) error {
	ddl, err := DDL(cluster)
	if err != nil {
		return err
	}
	if err := s.conn.Exec(ctx, ddl[0]); err != nil {
		return fmt.Errorf("lay out the tables: %w", err)
	}
	var found uint32
	if err := s.conn.QueryRow(ctx, "SELECT max(version) FROM schema_version").Scan(&found); err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if found > SchemaVersion {
		return newer(found)
	}
	for _, stmt := range ddl[1:] {
		if err := s.conn.Exec(ctx, stmt); err != nil {
			return fmt.Errorf("lay out the tables: %w", err)
		}
	}
	if found == SchemaVersion {
		return nil
	}
	return s.insert(ctx, "schema_version", fmt.Sprintf("schema/%d", SchemaVersion), []column{
		{"version", []uint32{SchemaVersion}},
		{"applied_at", []time.Time{s.clock.Now().UTC()}},
	})
}
