package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// A result that does not balance ends --once with an error that names job and day, also when every day is DONE.
func TestUnbalancedIsNotFine(t *testing.T) {
	t.Parallel()
	day := model.NewDay(2026, 10, 1)
	require.NoError(t, notFine([]model.Audit{{Job: "cards", Day: &day, Kind: model.AuditWaiting}}))
	err := notFine([]model.Audit{{Job: "cards", Day: &day, Kind: model.AuditUnbalanced, Detail: "one entry is lost"}})
	require.EqualError(t, err, "cards 2026-10-01 does not balance: one entry is lost")
	err = notFine([]model.Audit{{Job: "cards", Day: &day, Kind: model.AuditUnpublished, Detail: "version 2 is lost"}})
	require.EqualError(t, err, "cards 2026-10-01 is not what was told: version 2 is lost; see daybreak rebuild --dry-run")
}
