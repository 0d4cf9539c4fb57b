package deploytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// operation is one row: something that a client can ask of the server.
type operation struct {
	what    string
	subject string // published with body, or subscribed to
	body    string
	listen  bool   // it is a subscription
	may     string // the users who may, by the design
}

const (
	keys  = "$KV.daybreak."
	js    = "$JS.API."
	onDay = ".cards.2026-11-02"
	all   = "ticker recon auditor operator admin"
)

// operations are the rows. Requests have bodies that the server would act on.
var operations = []operation{
	{what: "say that a day is due", subject: "day.due" + onDay, may: "ticker"},
	{what: "ask for a replay of a day", subject: "day.replay" + onDay, may: "operator recon"},
	{what: "ask for a replay of a range", subject: "day.replay.cards", body: `{"from":"2026-11-02","to":"2026-11-02"}`, may: "operator"},
	{what: "nudge a day", subject: "day.nudge" + onDay, may: "recon auditor"},
	{what: "tell that a diff is open", subject: "diff" + onDay + ".opened", may: "recon"},
	{what: "tell that a diff is cleared", subject: "diff" + onDay + ".cleared", may: "recon"},
	{what: "tell a step of a review", subject: "diff" + onDay + ".reviewed", may: "auditor operator"},
	{what: "tell that a day is committed", subject: "batch" + onDay + ".committed", may: "recon"},
	{what: "tell a finding", subject: "audit" + onDay + ".missing", may: "auditor"},
	{what: "bury a message", subject: "dead.day.due" + onDay, may: "recon"},

	{what: "write a lease", subject: keys + "lease.cards.2026-11-02", may: "recon auditor"},
	{what: "write a fence", subject: keys + "fence.cards.2026-11-02", may: "recon auditor"},
	{what: "write a watermark", subject: keys + "day" + onDay, may: "recon auditor"},
	{what: "write a floor", subject: keys + "floor.cards", may: "ticker auditor"},
	{what: "write a review", subject: keys + "review" + onDay + ".d1", may: "auditor operator"},
	{what: "heartbeat of ticker", subject: keys + "beat.ticker.x", may: "ticker"},
	{what: "heartbeat of recon", subject: keys + "beat.recon.x", may: "recon"},
	{what: "heartbeat of auditor", subject: keys + "beat.auditor.x", may: "auditor"},
	{what: "write any other key", subject: keys + "other", may: ""},
	{what: "read one key", subject: js + "STREAM.MSG.GET.KV_daybreak", body: `{"last_by_subj":"$KV.daybreak.floor.cards"}`, may: "ticker recon auditor operator"},
	{what: "list watermarks", subject: js + "CONSUMER.CREATE.KV_daybreak.w.$KV.daybreak.day.cards.>", body: consumerOf("KV_daybreak", "w", "$KV.daybreak.day.cards.>"), may: "ticker recon auditor operator"},
	{what: "list reviews", subject: js + "CONSUMER.CREATE.KV_daybreak.r.$KV.daybreak.review.cards.>", body: consumerOf("KV_daybreak", "r", "$KV.daybreak.review.cards.>"), may: "auditor operator"},
	{what: "list heartbeats", subject: js + "CONSUMER.CREATE.KV_daybreak.b.$KV.daybreak.beat.>", body: consumerOf("KV_daybreak", "b", "$KV.daybreak.beat.>"), may: "auditor operator"},
	{what: "list every key", subject: js + "CONSUMER.CREATE.KV_daybreak.a.$KV.daybreak.>", body: consumerOf("KV_daybreak", "a", "$KV.daybreak.>"), may: ""},
	{what: "read keys past the leader", subject: js + "DIRECT.GET.KV_daybreak", body: `{"last_by_subj":"$KV.daybreak.floor.cards"}`, may: ""},

	{what: "take a day to work on", subject: js + "CONSUMER.MSG.NEXT.DAYS.recon", body: `{"batch":1,"no_wait":true}`, may: "recon"},
	{what: "settle a day", subject: "$JS.ACK.DAYS.recon.1.999.999.1.0", body: "+WPI", may: "recon"},
	{what: "read one message of DAYS", subject: js + "STREAM.MSG.GET.DAYS", body: `{"seq":1}`, may: "operator"},
	{what: "read one message of DIFFS", subject: js + "STREAM.MSG.GET.DIFFS", body: `{"seq":1}`, may: "recon auditor operator"},
	{what: "read one message of AUDIT", subject: js + "STREAM.MSG.GET.AUDIT", body: `{"seq":1}`, may: "auditor operator"},
	{what: "read one message of DEAD", subject: js + "STREAM.MSG.GET.DEAD", body: `{"seq":1}`, may: "operator"},
	{what: "follow all diff events", subject: js + "CONSUMER.CREATE.DIFFS.f.diff.>", body: consumerOf("DIFFS", "f", "diff.>"), may: "operator"},
	{what: "follow reviewed events", subject: js + "CONSUMER.CREATE.DIFFS.v.diff.*.*.reviewed", body: consumerOf("DIFFS", "v", "diff.*.*.reviewed"), may: "auditor operator"},
	{what: "follow the findings", subject: js + "CONSUMER.CREATE.AUDIT.t", body: consumerOf("AUDIT", "t", ""), may: "auditor"},
	{what: "follow the days", subject: js + "CONSUMER.CREATE.DAYS.d.day.>", body: consumerOf("DAYS", "d", "day.>"), may: ""},
	{what: "make the consumer of recon", subject: js + "CONSUMER.CREATE.DAYS.recon.day.>", body: consumerOf("DAYS", "recon", "day.>"), may: "admin"},
	{what: "make a consumer of DIFFS, any filter", subject: js + "CONSUMER.CREATE.DIFFS.mine", body: consumerOf("DIFFS", "mine", ""), may: "operator admin"},
	{what: "follow the dead letters", subject: js + "CONSUMER.CREATE.DEAD.d", body: consumerOf("DEAD", "d", ""), may: ""},
	{what: "take events of ledger-app", subject: js + "CONSUMER.MSG.NEXT.DIFFS.ledger-app", body: `{"batch":1,"no_wait":true}`, may: "downstream auditor operator"},
	{what: "settle events of ledger-app", subject: "$JS.ACK.DIFFS.ledger-app.1.999.999.1.0", body: "+WPI", may: "downstream"},

	{what: "look at the account", subject: js + "INFO", may: all},
	{what: "look at a stream", subject: js + "STREAM.INFO.DIFFS", may: all + " downstream"},
	{what: "look at the consumer of recon", subject: js + "CONSUMER.INFO.DAYS.recon", may: "recon auditor operator admin"},
	{what: "look at every consumer of a stream", subject: js + "CONSUMER.LIST.DIFFS", body: `{"offset":0}`, may: "auditor"},
	{what: "list the streams", subject: js + "STREAM.LIST", may: ""},
	{what: "make a stream of ours", subject: js + "STREAM.CREATE.DAYS", body: `{"name":"DAYS"}`, may: "admin"},
	{what: "make another stream", subject: js + "STREAM.CREATE.MINE", body: `{"name":"MINE","subjects":["mine.>"]}`, may: ""},
	{what: "change a stream", subject: js + "STREAM.UPDATE.DIFFS", body: `{"name":"DIFFS"}`, may: "admin"},
	{what: "change the bucket", subject: js + "STREAM.UPDATE.KV_daybreak", body: `{"name":"KV_daybreak"}`, may: "admin"},
	{what: "purge a stream", subject: js + "STREAM.PURGE.DIFFS", may: ""},
	{what: "purge the bucket", subject: js + "STREAM.PURGE.KV_daybreak", may: ""},
	{what: "delete a stream", subject: js + "STREAM.DELETE.DIFFS", may: ""},
	{what: "delete the bucket", subject: js + "STREAM.DELETE.KV_daybreak", may: ""},
	{what: "erase a message", subject: js + "STREAM.MSG.DELETE.AUDIT", body: `{"seq":1}`, may: ""},
	{what: "take a backup of a stream", subject: js + "STREAM.SNAPSHOT.DIFFS", body: `{"deliver_subject":"x"}`, may: ""},
	{what: "restore a stream", subject: js + "STREAM.RESTORE.DIFFS", body: `{}`, may: ""},
	{what: "depose a leader", subject: js + "STREAM.LEADER.STEPDOWN.DAYS", may: ""},
	{what: "delete the consumer of recon", subject: js + "CONSUMER.DELETE.DAYS.recon", may: ""},
	{what: "pause the consumer of recon", subject: js + "CONSUMER.PAUSE.DAYS.recon", body: `{"pause_until":"2030-01-01T00:00:00Z"}`, may: ""},
	{what: "delete the consumer of ledger-app", subject: js + "CONSUMER.DELETE.DIFFS.ledger-app", may: ""},
	{what: "the old way to make a consumer", subject: js + "CONSUMER.CREATE.DIFFS", body: consumerOf("DIFFS", "", ""), may: ""},
	{what: "the old way to make a durable", subject: js + "CONSUMER.DURABLE.CREATE.DIFFS.mine", body: consumerOf("DIFFS", "mine", ""), may: ""},

	{what: "subscribe to days", subject: "day.>", listen: true},
	{what: "subscribe to diff events", subject: "diff.>", listen: true},
	{what: "subscribe to keys", subject: "$KV.daybreak.>", listen: true},
	{what: "subscribe to requests", subject: "$JS.API.>", listen: true},
	{what: "subscribe to everything", subject: ">", listen: true},
	{what: "subscribe to the usual inbox", subject: "_INBOX.>", listen: true},
	{what: "subscribe to recon's inbox", subject: "_INBOX_recon.>", listen: true, may: "recon"},
	{what: "subscribe to operator's inbox", subject: "_INBOX_operator.>", listen: true, may: "operator"},
	{what: "forge an answer to recon", subject: "_INBOX_recon.x", may: ""},
	{what: "publish anything else", subject: "anything.else", may: ""},
	{what: "look at the servers", subject: "$SYS.REQ.SERVER.PING.VARZ", may: "sys"},
	{what: "make a server read its file", subject: "$SYS.REQ.SERVER.NAAA.RELOAD", may: ""},
	{what: "throw a client out", subject: "$SYS.REQ.SERVER.NAAA.KICK", body: `{"cid":1}`, may: ""},
}

func consumerOf(stream, name, filter string) string {
	cfg := map[string]any{"ack_policy": "none", "deliver_policy": "all", "name": name, "mem_storage": true, "inactive_threshold": int64(time.Minute)}
	if filter != "" {
		cfg["filter_subject"] = filter
	}
	body, err := json.Marshal(map[string]any{"stream_name": stream, "config": cfg})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// attempt does what the row says as one user.
func (o operation) attempt(t *testing.T, c *client) bool {
	t.Helper()
	if o.listen {
		var sub *nats.Subscription
		ok := c.try(t, func() (err error) { sub, err = c.SubscribeSync(o.subject); return err })
		_ = sub.Unsubscribe() // gone already when it was refused
		return ok
	}
	return c.try(t, func() error {
		m := nats.NewMsg(o.subject)
		m.Reply, m.Data = "_INBOX_"+c.user+".try", []byte(o.body)
		return c.PublishMsg(m)
	})
}

// Every user is tried with every operation: it may what its work needs, and nothing else. The table is printed, and is
// the one in docs/deploy.md.
func TestPermissionMatrix(t *testing.T) {
	c := startCluster(t, 1)
	layOut(t, c)
	clients := map[string]*client{}
	for _, u := range users {
		clients[u] = c.connect(t, u)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| what | subject | %s |\n|---|---|%s\n", strings.Join(users, " | "), strings.Repeat(":-:|", len(users)))
	for _, o := range operations {
		fmt.Fprintf(&table, "| %s | `%s` |", o.what, o.shown())
		for _, u := range users {
			want := slices.Contains(strings.Fields(o.may), u)
			got := o.attempt(t, clients[u])
			if got != want {
				t.Errorf("%s: %s (%s): allowed is %t, and should be %t", u, o.what, o.subject, got, want)
			}
			mark := " "
			if got {
				mark = "yes"
			}
			fmt.Fprintf(&table, " %s |", mark)
		}
		table.WriteString("\n")
	}
	t.Logf("permissions as tried:\n%s", table.String())
	sameAsDoc(t, "permissions", table.String())
}

func (o operation) shown() string {
	if o.listen {
		return "sub " + o.subject
	}
	return o.subject
}

// layOut makes streams and consumers as the administrator does, and a message in each stream.
func layOut(t *testing.T, c *cluster) {
	t.Helper()
	admin, err := jetstream.New(c.connect(t, "admin").Conn)
	require.NoError(t, err)
	layOutAs(t, admin, 1)
}

// sameAsDoc holds a table equal to the one between two marks of the document.
func sameAsDoc(t *testing.T, mark, table string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, "..", "docs", "deploy.md"))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "<!-- "+mark+" -->\n")
	require.True(t, ok, "docs/deploy.md has no mark %s", mark)
	shown, _, ok := strings.Cut(rest, "<!-- end of "+mark+" -->")
	require.True(t, ok)
	require.Equal(t, strings.TrimSpace(table), strings.TrimSpace(shown), "the table in docs/deploy.md is not what was tried")
}

// Who may make a consumer chooses where it delivers, and the server asks no permission for that subject. What keeps a user
// that may list watermarks from bringing them into another stream so is that nobody may subscribe to the subjects of the
// streams: without a subscriber the server delivers nothing.
func TestConsumersDoNotWriteIntoStreams(t *testing.T) {
	c := startCluster(t, 1)
	layOut(t, c)
	recon, ticker := c.connect(t, "recon"), c.connect(t, "ticker")
	_, err := recon.Request(keys+"day"+onDay, []byte("{}"), 5*time.Second)
	require.NoError(t, err)
	own, err := ticker.SubscribeSync("_INBOX_ticker.own")
	require.NoError(t, err)
	for name, deliver := range map[string]string{"x": "diff" + onDay + ".opened", "y": "day.replay" + onDay, "z": "_INBOX_ticker.own"} {
		body := fmt.Sprintf(`{"stream_name":"KV_daybreak","config":{"name":%q,"ack_policy":"none","deliver_subject":%q,`+
			`"deliver_policy":"all","filter_subject":"$KV.daybreak.day.cards.>"}}`, name, deliver)
		answer, err := ticker.Request(js+"CONSUMER.CREATE.KV_daybreak."+name+".$KV.daybreak.day.cards.>", []byte(body), 5*time.Second)
		require.NoError(t, err)
		require.NotContains(t, string(answer.Data), `"error"`)
	}
	for range 2 { // what is there, and what comes later
		_, err = own.NextMsg(5 * time.Second)
		require.NoError(t, err, "a consumer with a listener delivers")
		_, err := recon.Request(keys+"day"+onDay, []byte("{}"), 5*time.Second)
		require.NoError(t, err)
	}
	held := stream(t, c.servers[0], "DAYBREAK")
	require.Zero(t, held["DIFFS"])
	require.Zero(t, held["DAYS"])
}
