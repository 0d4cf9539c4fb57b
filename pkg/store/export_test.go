package store

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
)

// ResidueInRanges is Residue with ranges of a size that a test can fill.
func (s *Store) ResidueInRanges(ctx context.Context, c Comparison, rows int, fn func(model.Group) error) error {
	return s.residue(inOrder(ctx), c, rows, fn)
}

// Insert sends rows as the package does.
func (s *Store) InsertEntries(ctx context.Context, token string, id LandingID, rows []model.Entry) error {
	return s.insertEntries(ctx, token, id, rows)
}

// Through is the store on another connection.
func (s *Store) Through(conn driver.Conn) *Store {
	return &Store{conn: conn, clock: s.clock, log: s.log}
}
