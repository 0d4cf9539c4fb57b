package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// A small run: three jobs of four days, a recon killed and one put to sleep beyond its lease.
func TestAcceptSmall(t *testing.T) {
	t.Parallel()
	r := &report{progress: t.Output()}
	accept(t.Context(), options{seed: 11, days: daysMin, entries: 10, kills: 2, audit: 5 * time.Second}, r)
	var table strings.Builder
	r.print(&table)
	require.False(t, r.failed(), table.String())
}

// The judge itself can say no.
func TestDifferences(t *testing.T) {
	t.Parallel()
	require.NoError(t, differences("here", "there", []string{"a", "b", "a"}, []string{"a", "a", "b"}))
	require.EqualError(t, differences("here", "there", []string{"a", "a"}, []string{"a", "b"}), "2 differences: only here: a; only there: b")
}

// A consumer's table refuses what a stream must not do.
func TestTableRefuses(t *testing.T) {
	t.Parallel()
	opened := `{"id":"1","type":"daybreak.diff.opened","data":{"batch_id":"j.2026-10-01","diff_id":"d","version":1,"state":"open"}}`
	again := strings.Replace(opened, `"open"`, `"cleared"`, 1)
	other := strings.Replace(opened, `"1"`, `"2"`, 1)
	committed := `{"id":"3","type":"daybreak.batch.committed","data":{"batch_id":"j.2026-10-01","version":1,"events":1}}`
	b := newTable()
	require.NoError(t, b.take([]byte(opened)))
	require.ErrorContains(t, b.whole(), "never announced")
	require.NoError(t, b.take([]byte(opened)), "a repetition is fine")
	require.ErrorContains(t, b.take([]byte(again)), "told twice and differently")
	require.ErrorContains(t, b.take([]byte(other)), "has two events")
	require.NoError(t, b.take([]byte(committed)))
	require.ErrorContains(t, b.whole(), "announces 1 diff events, 2 are there")
}

// A write under a fence that is not the newest any more, and a write that is missing, are seen.
func TestLogIsJudged(t *testing.T) {
	t.Parallel()
	write := func(seq int, key, data string) *nats.Msg {
		return &nats.Msg{Subject: logSubject + key, Data: []byte(data), Header: nats.Header{"Nats-Sequence": {strconv.Itoa(seq)}}}
	}
	good := []*nats.Msg{
		write(7, "lease.j.d", "me"), write(8, "fence.j.d", "me"), write(9, "day.j.d", `{"status":"RUNNING","fence":8}`),
		write(10, "fence.j.d", "you"), write(11, "day.j.d", `{"status":"RUNNING","fence":10}`), write(12, "day.j.d", ""),
	}
	figures, last, err := judgeLog(good)
	require.NoError(t, err)
	require.Equal(t, uint64(12), last)
	require.Equal(t, "6 writes recorded, 2 watermarks, 2 holdings of 1 batches", figures)
	_, _, err = judgeLog(append(good, write(13, "day.j.d", `{"status":"DONE","fence":8}`)))
	require.ErrorContains(t, err, "DONE  by  under fence 8 while 10 was the newest")
	_, _, err = judgeLog(append(good, write(15, "beat.x", "")))
	require.ErrorContains(t, err, "the writes from 13 to 14 are not in the log")
	_, _, err = judgeLog(append(good, write(12, "beat.x", "")))
	require.ErrorContains(t, err, "not in the order")
	_, _, err = judgeLog(nil)
	require.ErrorContains(t, err, "no watermark")
}
