package engine

import (
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ClientOptions are for clickhouse.Open on an embedded engine that another process of this machine runs: HTTP on the
// loopback address, without compression. Every call gives a fresh value that may be changed.
func ClientOptions(addr, user, password string) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol:     clickhouse.HTTP,
		Addr:         []string{addr},
		Auth:         clickhouse.Auth{Database: "default", Username: user, Password: password},
		Compression:  &clickhouse.Compression{Method: clickhouse.CompressionNone},
		DialTimeout:  30 * time.Second,
		ReadTimeout:  time.Hour, // until a statement's first block
		MaxOpenConns: 16,
		MaxIdleConns: 16,
	}
}
