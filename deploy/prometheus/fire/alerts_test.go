package fire

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// fired is an alert that came, with what was done for it.
type fired struct {
	alert
	cause string
}

// drill is a world whose alerts are awaited.
type drill struct {
	*world
	inbox *inbox
	got   map[string]fired
}

// Every rule of the shipped file fires once through a real cause, and its page reaches the receiver that the shipped
// routes give it. The steps build on each other: what is broken stays broken unless it says otherwise.
func TestEveryAlertFires(t *testing.T) {
	in := openInbox(t)
	d := &drill{world: newWorld(t, 14, 20*time.Second, startAlertmanager(t, in.url)), inbox: in, got: map[string]fired{}}
	d.expect("DaybreakWatchdog none", "nothing: it always fires")
	steps := []struct {
		name string
		do   func()
	}{
		{"a release is rolled out by halves", d.halves}, {"sources", d.sources}, {"results and processes", d.results},
		{"space", d.space}, {"holders", d.holders}, {"nobody takes days up", d.stuck}, {"services end", d.services}, {"engines end", d.ends},
	}
	for _, s := range steps {
		begun := time.Now()
		in.since(begun)
		s.do()
		t.Logf("%s: %s", s.name, time.Since(begun).Round(time.Second))
	}
	d.requireHealthyRules()
	save(t, "alerts.txt", d.table())
	for _, rule := range shippedRules(t) {
		if _, ok := d.got[rule]; !ok {
			t.Errorf("%s did not fire", rule)
		}
	}
}

// expect waits for the page of a rule and keeps it with its cause. Labels that the page must have come in pairs.
func (d *drill) expect(rule, cause string, match ...string) {
	d.t.Helper()
	labels := map[string]string{}
	for i := 0; i < len(match); i += 2 {
		labels[match[i]] = match[i+1]
	}
	a, ok := d.inbox.await(rule, labels, patience)
	if !ok {
		d.t.Errorf("%s did not fire although: %s\n%s\n%s", rule, cause, d.list("ALERTS"), d.list("daybreak_findings_escalated > 0"))
		return
	}
	d.requireReadable(a)
	d.got[rule] = fired{a, cause}
	d.t.Logf("%s %v: %s", rule, a.Labels, a.Annotations["description"])
}

// requireReadable checks what a template can spoil, and that the page went where the shipped routes send it.
func (d *drill) requireReadable(a alert) {
	d.t.Helper()
	for _, text := range a.Annotations {
		for _, bad := range []string{"{{", "%!", "<no value>", "<error", "NaN", "  ", "job  "} {
			require.NotContains(d.t, text, bad, a.rule())
		}
	}
	want := map[string]string{"critical": "pager", "warning": "people", "info": "nobody", "none": "watchdog"}[a.Labels["severity"]]
	require.Equal(d.t, want, a.Receiver, a.rule())
}

// halves starts everything on configurations that are not yet the same: recon does not know split, and no auditor slow.
func (d *drill) halves() {
	d.breakFile("cards/ledger/" + d.book.Last.String() + ".csv")
	require.NoError(d.t, os.Remove(d.path("wallet/ledger/"+d.book.Last.Add(-3).String()+".csv")))
	d.start("ticker", whole)
	d.start("recon", d.without("split"))
	d.start("auditor", d.without("slow"))
	d.requireScraped()
	d.expect("DaybreakDeadLetters warning", "the recons run on a configuration without job split, so that its days are rejected")
	d.expect("DaybreakDayMissing critical", "the same: no recon begins the days of split, also when the auditor asks again", "job", "split")
	d.expect("DaybreakDayFailed critical", "a line that is no entry in the ledger file of cards for the last day", "job", "cards")
	d.expect("DaybreakDayWaitingTooLong critical", "the ledger file of wallet for one day never came", "job", "wallet")
	d.expect("DaybreakDayOverdue critical", "the same: that day is not DONE and its patience is over", "job", "wallet")
	d.expect("DaybreakReviewBacklogOld warning", "diffs of business days more than a week ago, and nobody reviews them")
	d.expect("DaybreakJobNotAudited critical", "the auditors run on a configuration without job slow", "job", "slow")
	d.renew("recon", whole)
	d.renew("auditor", whole)
	d.command("replay", "split", d.span(), "--reason", "recon did not know the job", "--wait")
	d.until(fmt.Sprintf(`max by (job) (daybreak_batches{job="slow",status="done"}) == %d`, d.length()), patience)
}

// span is the whole book as the command line wants it.
func (d *drill) span() string { return d.book.First.String() + ".." + d.book.Last.String() }

func (d *drill) length() int { return int(d.book.Last-d.book.First) + 1 }

// sources change and fail.
func (d *drill) sources() {
	require.NoError(d.t, os.Remove(d.path("cards/ledger/"+d.book.First.Add(2).String()+".csv")))
	d.expect("DaybreakSourceChangedAfterDone warning", "the ledger file of cards for a day that was DONE was removed", "job", "cards")
	d.expect("DaybreakFindingEscalated warning", "the same: recomputing the day cannot cure it, as the file is gone", "job", "cards", "finding", "source-changed")
	d.exec(d.t, "RENAME TABLE bank.pace TO bank.closed")
	d.replay("slow", d.book.Last)
	d.expect("DaybreakDayFailedRepeatedly critical", "the table behind a query source was renamed, and its day replayed: every attempt fails", "job", "slow")
	d.exec(d.t, "RENAME TABLE bank.closed TO bank.pace")
}

func (d *drill) replay(job string, days ...model.Day) {
	d.t.Helper()
	for _, day := range days {
		d.publish("day.replay."+job+"."+day.String(), `{"reason":"drill"}`)
	}
}

// results are tampered with while a process is down.
func (d *drill) results() {
	auditor := d.of("auditor")[1]
	d.end(auditor, syscall.SIGKILL)
	d.expect("DaybreakTargetDown warning", "an auditor was killed with SIGKILL", "instance", auditor.address)
	d.exec(d.t, fmt.Sprintf("ALTER TABLE daybreak.entries DELETE WHERE job = 'split' AND biz_date = '%s' AND side = 'channel' SETTINGS mutations_sync = 2", d.book.First))
	d.run(auditor, whole)
	d.expect("DaybreakDayUnbalanced critical", "the entries of one side of a DONE day of split were deleted from the table, and an auditor was started again", "job", "split")
}

// space runs out: in a stream, and in the account.
func (d *drill) space() {
	dead, err := d.js.Stream(d.t.Context(), "DEAD")
	require.NoError(d.t, err)
	d.fill(dead, "dead.day.due.cards", 0.87, 10_000)
	d.expect("DaybreakStreamNearLimit warning", "rejected messages fill DEAD to 87 % of its limit", "stream", "DEAD")
	d.fill(dead, "dead.day.due.cards", 0.97, 5_000)
	d.expect("DaybreakStreamNearLimit critical", "and to 97 %", "stream", "DEAD")
	other, err := d.js.CreateStream(d.t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}, Replicas: replicas})
	require.NoError(d.t, err)
	for d.used() < 0.92 {
		d.publish("other", strings.Repeat("x", 500_000))
	}
	d.expect("DaybreakDiskLow critical", "another program fills the JetStream account that Daybreak shares to 92 %")
	require.NoError(d.t, d.js.DeleteStream(d.t.Context(), other.CachedInfo().Config.Name))
	require.NoError(d.t, dead.Purge(d.t.Context()))
}

// used is the share of the account's quota in use. The servers tell each other what they store every now and then, so it is
// asked until two answers agree.
func (d *drill) used() (share float64) {
	d.t.Helper()
	for last := -1.0; share != last; {
		last = share
		account, err := d.js.AccountInfo(d.t.Context())
		require.NoError(d.t, err)
		share = float64(account.Store) / float64(account.Limits.MaxStore)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-d.t.Context().Done():
		}
	}
	return share
}

// fill publishes to a stream until that share of its limit is used.
func (d *drill) fill(s jetstream.Stream, subject string, share float64, size int) {
	d.t.Helper()
	for {
		info, err := s.Info(d.t.Context())
		require.NoError(d.t, err)
		if float64(info.State.Bytes) >= share*float64(info.Config.MaxBytes) {
			return
		}
		d.publish(subject, strings.Repeat("x", size))
	}
}

// holders lose what they hold: to a person, and by dying.
func (d *drill) holders() {
	d.kill("ticker") // their page takes a while and comes at the end of this step
	d.pace(d.t, 1)   // a day is pulled in less than the 20 s after which its lease is first renewed
	days := d.newest(6)
	d.replay("slow", days...)
	held := d.awaitHeld(6, days)
	for _, day := range held {
		require.NoError(d.t, d.purgeLease(day))
	}
	d.replay("slow", held...)
	d.expect("DaybreakFenceRejections info", "a person deleted the leases of six days in work and asked for the days again: their holders were taken over without knowing")
	d.awaitIdle()
	d.pace(d.t, 3)
	days = d.newest(12)
	d.replay("slow", days...)
	d.awaitHeld(12, days)
	recons := d.of("recon")
	for _, p := range recons[:2] {
		d.signal(p, syscall.SIGSTOP)
	}
	d.pace(d.t, 0)
	d.expect("DaybreakLeaseTakeovers warning", "two of three recons were stopped with SIGSTOP while they held eight days, past their leases")
	for _, p := range recons[:2] {
		d.signal(p, syscall.SIGCONT)
	}
	d.awaitIdle()
	d.t.Log(d.list("daybreak_lease_takeovers_total"), d.list("daybreak_leases_lost_total"), d.list("daybreak_fence_rejections_total"))
	d.expect("DaybreakTickerSilent warning", "both tickers were killed")
	d.start("ticker", whole)
}

// newest are the last n days of the book.
func (d *drill) newest(n int) (out []model.Day) {
	for i := range n {
		out = append(out, d.book.Last.Add(-i))
	}
	return out
}

// awaitHeld waits until at least n of the days of slow are held, and returns those.
func (d *drill) awaitHeld(n int, days []model.Day) []model.Day {
	d.t.Helper()
	var held []model.Day
	require.Eventually(d.t, func() bool {
		held = slices.DeleteFunc(slices.Clone(days), func(day model.Day) bool { return !d.leased(day) })
		return len(held) >= n
	}, patience, 100*time.Millisecond)
	return held
}

// leaseSubject is where the bucket keeps the lease of a day of slow.
func leaseSubject(day model.Day) string {
	return "$KV.daybreak.lease." + model.BatchID("slow", day)
}

func (d *drill) bucket() jetstream.Stream {
	s, err := d.js.Stream(d.t.Context(), "KV_daybreak")
	require.NoError(d.t, err)
	return s
}

func (d *drill) leased(day model.Day) bool {
	m, err := d.bucket().GetLastMsgForSubject(d.t.Context(), leaseSubject(day))
	return err == nil && len(m.Data) > 0
}

// purgeLease removes a lease as `nats kv purge` does.
func (d *drill) purgeLease(day model.Day) error {
	return d.bucket().Purge(d.t.Context(), jetstream.WithPurgeSubject(leaseSubject(day)))
}

func (d *drill) awaitIdle() {
	d.t.Helper()
	d.until(`sum(daybreak_messages_in_work{consumer="recon"}) == 0 and on() max(daybreak_consumer_pending_messages{consumer="recon"}) == 0`, patience)
}

// stuck lets every worker wait for a bank that does not answer, while more is asked for.
func (d *drill) stuck() {
	d.pace(d.t, 60)
	d.replay("slow", d.newest(d.length())...)
	d.replay("cards", d.newest(5)...)
	d.expect("DaybreakBacklogStuck critical", "the bank behind job slow hangs, and all twelve workers of the three recons wait for it")
}

// services end one after the other.
func (d *drill) services() {
	d.kill("recon")
	d.expect("DaybreakReconSilent critical", "all recons were killed")
}

// ends: ClickHouse, the auditors, NATS.
func (d *drill) ends() {
	d.ch.Close()
	d.expect("DaybreakEngineDown critical", "ClickHouse was ended", "type", "clickhouse")
	for _, s := range d.servers {
		s.Shutdown()
	}
	a, ok := d.inbox.await("DaybreakEngineDown critical", map[string]string{"type": "nats"}, patience)
	require.True(d.t, ok, "all NATS servers were ended")
	d.requireReadable(a)
	d.expect("DaybreakAuditorSilent warning", "without engines no look at a job succeeds")
	d.kill("auditor")
	d.expect("DaybreakAuditorSilent critical", "both auditors were killed")
}

// requireHealthyRules checks that Prometheus could evaluate every rule to the end.
func (d *drill) requireHealthyRules() {
	d.t.Helper()
	var all struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string } `json:"rules"`
		} `json:"groups"`
	}
	require.NoError(d.t, d.prom.ask("rules", &all))
	n := 0
	for _, g := range all.Groups {
		for _, r := range g.Rules {
			require.Equal(d.t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
			n++
		}
	}
	require.Len(d.t, shippedRules(d.t), n)
}

// table lists what came in the order of the shipped file.
func (d *drill) table() string {
	out := &strings.Builder{}
	fmt.Fprintln(out, "alert | receiver | cause done | summary | description | runbook")
	for _, rule := range shippedRules(d.t) {
		f, ok := d.got[rule]
		if !ok {
			fmt.Fprintf(out, "%s | - | NOT FIRED\n", rule)
			continue
		}
		fmt.Fprintf(out, "%s | %s | %s | %s | %s | %s\n", rule, f.Receiver, f.cause, f.Annotations["summary"], f.Annotations["description"], f.Annotations["runbook_url"])
	}
	return out.String()
}
