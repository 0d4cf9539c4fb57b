package check

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// composer writes a small history by hand: two jobs of two days, one replay that brings another version, one review, one piece
// of rubbish. Job split hands an entry on from the first day to the second.
type composer struct {
	t *testing.T
	h *History

	seq, days, diffs uint64
}

const day1, day2 = "2026-09-01", "2026-09-02"

func sound(t *testing.T) *History {
	t.Helper()
	c := &composer{t: t, h: &History{Dir: t.TempDir()}}
	c.h.Jobs = []Job{{"wallet", "independent", day1, day2}, {"split", "strict", day1, day2}}
	c.file("wallet/ledger/"+day1+".csv", "order_no,amount,currency,state", "k1,10,USD,PAID", "k2,5.00,USD,PAID")
	c.file("wallet/bills/20260901.csv", "order;amount;currency;state", "k1;10;USD;SUCCESS", "k2;6;USD;SUCCESS")
	c.file("wallet/ledger/"+day2+".csv", "order_no,amount,currency,state", "k3,1.5,USD,PAID")
	c.file("wallet/bills/20260902.csv", "order;amount;currency;state", "k3;1.5;USD;SUCCESS")
	c.file("split/ledger/"+day1+".csv", "order_no,amount,currency,state", "s1,7,GBP,PAID")
	c.file("split/bills/20260901.csv", "order,amount,currency,state")
	c.file("split/ledger/"+day2+".csv", "order_no,amount,currency,state")
	c.file("split/bills/20260902.csv", "order,amount,currency,state")

	was := diff("wallet", day1, "d2", "k2", "amount", "5", "7", "-2", day1)
	is := diff("wallet", day1, "d2", "k2", "amount", "5", "6", "-1", day1)
	waited := diff("split", day2, "d3", "s1", "missing_in_channel", "7", "0", "7", day1)
	waited["channel_count"], waited["channel_status"], waited["currency"] = "0", "", "GBP"
	waited["amounts"] = amounts("GBP", "1", "0", "7", "0")

	c.run("wallet", day1, 1, "due", was)
	c.read("wallet", day1, 1, was)
	c.run("wallet", day2, 1, "due")
	c.run("split", day1, 1, "due")
	c.run("split", day2, 1, "due", waited)
	c.review(was)
	c.run("wallet", day1, 2, "replay", is)
	c.read("wallet", day1, 2, is)
	c.message("DEAD", "dead.day.x", "hello", map[string]string{"Daybreak-Reason": "no such subject", "Daybreak-Stream": "DAYS", "Daybreak-Seq": "99"})
	c.h.Actions = append(c.h.Actions, Action{Kind: "rubbish", Answer: "ok", Detail: Row{"subject": "day.x"}})

	c.entry("wallet", day1, "ledger", "k1", "10", "USD")
	c.entry("wallet", day1, "channel", "k1", "10", "USD")
	c.entry("wallet", day1, "ledger", "k2", "5", "USD")
	c.entry("wallet", day1, "channel", "k2", "6", "USD")
	c.entry("wallet", day2, "ledger", "k3", "1.5", "USD")
	c.entry("wallet", day2, "channel", "k3", "1.5", "USD")
	c.entry("split", day1, "ledger", "s1", "7", "GBP")
	c.h.Carried = append(c.h.Carried, Row{"job": "split", "biz_date": day1, "side": "ledger", "match_key": "s1", "amount": "7", "currency": "GBP", "origin_date": day1})
	c.h.Entries = append(c.h.Entries, Row{"job": "split", "biz_date": day2, "side": "ledger", "match_key": "s1", "amount": "7", "currency": "GBP", "origin_date": day1, "carried": json.Number("1")})
	final := merge(is, Row{"review": "investigating", "version": "2", "run_id": "wallet." + day1 + "-2"})
	c.h.Diffs = append(c.h.Diffs, final, merge(waited, Row{"review": "none", "version": "1", "run_id": "split." + day2 + "-1"}))
	return c.h
}

func (c *composer) file(path string, lines ...string) {
	c.t.Helper()
	text := ""
	for _, l := range lines {
		text += l + "\n"
	}
	name := filepath.Join(c.h.Dir, "final", "sources", filepath.FromSlash(path))
	require.NoError(c.t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(c.t, os.WriteFile(name, []byte(text), 0o600))
}

func amounts(currency, ln, cn, l, ch string) []any {
	return []any{map[string]any{"currency": currency, "ledger_count": ln, "channel_count": cn, "ledger": l, "channel": ch}}
}

func diff(job, day, id, key, kind, ledger, channel, delta, origin string) Row {
	return Row{
		"job": job, "biz_date": day, "batch_id": job + "." + day, "diff_id": id, "key": key, "kind": kind, "state": "open", "currency": "USD",
		"ledger_count": "1", "channel_count": "1", "ledger_amount": ledger, "channel_amount": channel, "delta": delta, "ledger_status": "PAID",
		"channel_status": "SUCCESS", "origin_date": origin, "amounts": amounts("USD", "1", "1", ledger, channel),
	}
}

func (c *composer) json(v any) json.RawMessage {
	c.t.Helper()
	text, err := json.Marshal(v)
	require.NoError(c.t, err)
	return text
}

func (c *composer) control(key, op string, body any) uint64 {
	c.seq++
	c.h.Control = append(c.h.Control, Write{Seq: c.seq, Key: key, Op: op, Body: c.json(body)})
	return c.seq
}

func (c *composer) message(stream, subject string, body any, headers map[string]string) uint64 {
	seq := &c.diffs
	if stream == "DAYS" {
		seq = &c.days
	}
	*seq++
	c.h.Messages = append(c.h.Messages, Message{Stream: stream, Seq: *seq, Subject: subject, MsgID: headers["Nats-Msg-Id"], Headers: headers, Body: c.json(body)})
	return *seq
}

// run is one holding that does a day, with everything that it leaves. It tells each of its diffs.
func (c *composer) run(job, day string, version uint64, cause string, diffs ...Row) {
	batch, id := job+"."+day, fmt.Sprintf("%s.%s-%d", job, day, version)
	trigger := c.message("DAYS", "day."+cause+"."+batch, "", nil)
	c.control("lease."+batch, "PUT", Row{"owner": id, "term": id})
	fence := c.control("fence."+batch, "PUT", Row{"owner": id})
	mark := Row{"status": "RUNNING", "phase": "start", "run_id": id, "fence": fence, "trigger": trigger}
	c.control("day."+batch, "PUT", mark)
	for _, d := range diffs {
		kind := "opened"
		if version > 1 {
			kind = "changed"
		}
		c.event(fmt.Sprint(id, d["diff_id"]), "daybreak.diff."+kind, merge(d, Row{"version": version}))
	}
	c.event(id, "daybreak.batch.committed", Row{"batch_id": batch, "version": version, "events": len(diffs)})
	c.h.Batches = append(c.h.Batches, Row{
		"batch_id": batch, "job": job, "biz_date": day, "version": fmt.Sprint(version), "fence": fmt.Sprint(fence), "run_id": id, "cause": cause,
		"open_diffs": fmt.Sprint(len(diffs)),
	})
	done := merge(mark, Row{"status": "DONE", "phase": "done", "version": version})
	c.control("day."+batch, "PUT", done)
	c.control("lease."+batch, "DEL", "")
	for i, k := range c.h.Watermarks {
		if k.Key == "day."+batch {
			c.h.Watermarks[i].Body = c.json(done)
			return
		}
	}
	c.h.Watermarks = append(c.h.Watermarks, Key{"day." + batch, c.json(done)})
}

func (c *composer) event(id, kind string, data Row) {
	c.message("DIFFS", "diff", Row{"id": id, "type": kind, "data": data}, map[string]string{"Nats-Msg-Id": id})
}

func (c *composer) read(job, day string, version uint64, diffs ...Row) {
	var rows []Row
	for _, d := range diffs {
		rows = append(rows, merge(d, Row{"version": fmt.Sprint(version), "run_id": fmt.Sprintf("%s.%s-%d", job, day, version)}))
	}
	c.h.Reads = append(c.h.Reads, Read{Reader: "r", N: len(c.h.Reads) + 1, Job: job, Day: day, Diffs: rows})
}

func (c *composer) review(d Row) {
	r := Row{"job": d["job"], "biz_date": d["biz_date"], "diff_id": d["diff_id"], "step": "1", "state": "investigating", "by": "ana", "note": "n1"}
	c.h.Reviews = append(c.h.Reviews, r)
	c.h.ReviewKeys = append(c.h.ReviewKeys, Key{"review." + d.Text("batch_id") + "." + d.Text("diff_id"), c.json(r)})
	c.h.Actions = append(c.h.Actions, Action{Kind: "review", Job: d.Text("job"), Day: d.Text("biz_date"), By: "ana", Answer: "ok", Detail: Row{"diff_id": d["diff_id"], "to": "investigating", "note": "n1"}})
	c.event("review1", "daybreak.diff.reviewed", merge(d, Row{"version": 1, "review": Row{"state": "investigating", "step": "1"}}))
}

func (c *composer) entry(job, day, side, key, amount, currency string) {
	c.h.Entries = append(c.h.Entries, Row{"job": job, "biz_date": day, "side": side, "match_key": key, "amount": amount, "currency": currency, "origin_date": day, "carried": json.Number("0")})
}
