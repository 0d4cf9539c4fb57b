package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func sampleDiff() model.Diff {
	f := ruled.Judge(model.Group{Key: "k", Ledger: entries(model.Ledger, "1.50 CNY ok"), Channel: entries(model.Channel, "2 CNY bad")}, waits(100)).Figures
	d := model.Day(20756) // 2026-10-30
	return model.Diff{Figures: f, Job: "wechat", Day: d, ID: model.DiffID("wechat", d, "k"), State: model.Open, Version: 3}
}

// TestIdentitiesStay holds identities that are stored and sent against what they were when they were introduced: a
// change would open every diff anew and lose every review.
func TestIdentitiesStay(t *testing.T) {
	t.Parallel()
	d := sampleDiff()
	require.Equal(t, "2026-10-30", d.Day.String())
	require.Equal(t, "259d023323d426f7bf2b0440e70629f9", d.ID)
	require.Equal(t, "777b900ca615757cb2eedde0a775c028", d.Fingerprint())
	e, err := model.NewDiffEvent(model.DiffOpened, d, time.Unix(1, 0))
	require.NoError(t, err)
	require.Equal(t, "9ac9282ee20af19876c5675fc8778f3c", e.ID)
	var p model.PoolDigest
	p.Add(entries(model.Ledger, "1.50 CNY ok"))
	require.Equal(t, "3a912b853e289d018fb2273d5639fdc4f3debf03652a88a7836c81c416b67fb1", p.String())
}

func TestDiffIDsAreApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, job := range []string{"a", "a-b", "b"} {
		for d := range model.Day(3) {
			for _, key := range []string{"k", "", "K", "k ", "\xff", "\xfe", "�", "a\",\"b", "1:k"} {
				id, what := model.DiffID(job, d, key), fmt.Sprintf("%s %s %q", job, d, key)
				require.Regexp(t, "^[0-9a-f]{32}$", id)
				require.Empty(t, seen[id], "%s has the id of %s", what, seen[id])
				seen[id] = what
			}
		}
	}
}

func TestFingerprintFollowsTheFiguresOnly(t *testing.T) {
	t.Parallel()
	base := sampleDiff().Fingerprint()
	for what, change := range map[string]func(*model.Diff){
		"version": func(d *model.Diff) { d.Version++ },
		"state":   func(d *model.Diff) { d.State = model.Cleared },
		"line":    func(d *model.Diff) { d.LedgerRef = "other.csv:7" },
		"scale":   func(d *model.Diff) { d.Amounts[0].Ledger = decimal.RequireFromString("1.500") },
	} {
		d := sampleDiff()
		change(&d)
		require.Equal(t, base, d.Fingerprint(), what)
	}
	for what, change := range map[string]func(*model.Diff){
		"amount":   func(d *model.Diff) { d.Amounts[0].Ledger = decimal.RequireFromString("1.51") },
		"count":    func(d *model.Diff) { d.Amounts[0].ChannelCount++ },
		"currency": func(d *model.Diff) { d.Amounts[0].Currency = "USD" },
		"kind":     func(d *model.Diff) { d.Kind = model.KindStatus },
		"reasons":  func(d *model.Diff) { d.Reasons = d.Reasons[:1] },
		"status":   func(d *model.Diff) { d.ChannelStatus = "ok" },
		"detail":   func(d *model.Diff) { d.Detail = "" },
		"origin":   func(d *model.Diff) { d.Origin++ },
	} {
		d := sampleDiff()
		change(&d)
		require.NotEqual(t, base, d.Fingerprint(), what)
	}
}

func TestPoolDigestFollowsContentOnly(t *testing.T) {
	t.Parallel()
	digest := func(groups ...[]model.Entry) string {
		var p model.PoolDigest
		for _, g := range groups {
			p.Add(g)
		}
		return p.String()
	}
	a, b := entries(model.Ledger, "1 CNY ok", "2 CNY ok"), entries(model.Ledger, "2.0 CNY ok", "1 CNY ok")
	for i := range b {
		b[i].File, b[i].Line = "elsewhere", 99
	}
	require.Empty(t, digest())
	require.Empty(t, digest(nil))
	require.Equal(t, digest(a), digest(b), "neither order nor file nor scale matters")
	seen := map[string]string{"": "empty pool", digest(a): "base"}
	for what, change := range map[string]func(*model.Entry){
		"side":       func(e *model.Entry) { e.Side = model.Channel },
		"key":        func(e *model.Entry) { e.Key = "l" },
		"id":         func(e *model.Entry) { e.ID = "1" },
		"amount":     func(e *model.Entry) { e.Amount = decimal.RequireFromString("1.01") },
		"currency":   func(e *model.Entry) { e.Currency = "USD" },
		"status":     func(e *model.Entry) { e.Status = "bad" },
		"compared":   func(e *model.Entry) { e.Compared = []string{"bad"} },
		"more":       func(e *model.Entry) { e.Compared = []string{"ok", ""} },
		"instant":    func(e *model.Entry) { e.OccurredAt = time.Unix(1, 0) },
		"fee":        func(e *model.Entry) { e.Fee = decimal.NewNullDecimal(decimal.Zero) },
		"attribute":  func(e *model.Entry) { e.Attrs = map[string]string{"a": "b"} },
		"attributes": func(e *model.Entry) { e.Attrs = map[string]string{"a": "b", "c": ""} },
		"origin":     func(e *model.Entry) { e.Origin++ },
	} {
		c := entries(model.Ledger, "1 CNY ok", "2 CNY ok")
		change(&c[0])
		require.Empty(t, seen[digest(c)], what)
		seen[digest(c)] = what
	}
}

func schema(t testing.TB, noun string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(model.Schema(noun)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	urn := "urn:daybreak:schema:" + noun + ":v1"
	require.NoError(t, c.AddResource(urn, doc))
	s, err := c.Compile(urn)
	require.NoError(t, err)
	return s
}

// validate checks the envelope, and the data against the schema that the envelope names.
func validate(t testing.TB, schemas map[string]*jsonschema.Schema, e model.Event) {
	t.Helper()
	s := schemas[e.DataSchema]
	require.NotNil(t, s, e.DataSchema)
	data, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Data))
	require.NoError(t, err)
	require.NoError(t, s.Validate(data), string(e.Data))
	require.Equal(t, "1.0", e.SpecVersion)
	require.Regexp(t, "^[0-9a-f]{32}$", e.ID)
	require.Equal(t, "application/json", e.DataContentType)
	for _, s := range []string{e.Source, e.Type, e.Subject} {
		require.NotEmpty(t, s)
	}
}

func bothSchemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	return map[string]*jsonschema.Schema{
		"urn:daybreak:schema:diff:v1": schema(t, "diff"), "urn:daybreak:schema:batch:v1": schema(t, "batch"),
	}
}

func TestEveryEventFollowsItsSchema(t *testing.T) {
	t.Parallel()
	schemas, r := bothSchemas(t), rand.New(rand.NewPCG(13, 14))
	at := time.Date(2026, 10, 31, 1, 2, 3, 4, time.UTC)
	ids := map[string]bool{}
	check := func(e model.Event, err error) {
		require.NoError(t, err)
		validate(t, schemas, e)
		require.False(t, ids[e.ID], "an id twice")
		ids[e.ID] = true
	}
	for i := range 300 {
		rules := ruled
		rules.Mode = []model.MatchMode{model.ModeOne, model.ModeSum}[r.IntN(2)]
		o := rules.Judge(randomGroup(r), waits(103))
		if o.Verdict != model.Different {
			continue
		}
		key := fmt.Sprintf("k%d", i)
		d := model.Diff{Figures: o.Figures, Job: "j", Day: 20000, ID: model.DiffID("j", 20000, key), State: model.Open, Version: 1}
		for _, kind := range []model.EventKind{model.DiffOpened, model.DiffChanged, model.DiffCleared} {
			check(model.NewDiffEvent(kind, d, at))
		}
		check(model.NewReviewEvent(d, model.Review{
			Job: "j", Day: 20000, DiffID: d.ID, Key: key, State: model.ReviewInvestigating, By: "me", At: at, Step: 1, Fingerprint: d.Fingerprint(), SeenVersion: 1,
		}))
	}
	require.Greater(t, len(ids), 500)
	b := model.Batch{Job: "j", Day: 20000, Version: 1, Fence: 7, RunID: "r", Cause: model.CauseDue, CommittedAt: at, Balance: *balanced()}
	check(model.NewCommittedEvent(b, 0, false))
	b.Version, b.Balance, b.Diffs, b.CarryOut = 2, model.Balance{}, map[model.Kind]uint64{model.KindAmount: 2}, "ab"
	check(model.NewCommittedEvent(b, 5, true))
	check(model.NewFailedEvent("j", 20000, model.Watermark{RunID: "r2", Fence: 8, Cause: model.CauseReplay, Error: "no bill"}, at))
}

// A run that committed and cannot be finished fails once for every holder that tries: each failure is heard.
func TestEveryFailureOfARunIsAnEventOfItsOwn(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	id := func(w model.Watermark) string {
		e, err := model.NewFailedEvent("j", 20000, w, at)
		require.NoError(t, err)
		return e.ID
	}
	first := id(model.Watermark{RunID: "r", Fence: 7, Error: "no answer"})
	require.Equal(t, first, id(model.Watermark{RunID: "r", Fence: 7, Error: "no answer"}), "told again, it is the same")
	require.NotEqual(t, first, id(model.Watermark{RunID: "r", Fence: 9, Error: "no space"}))
}

func TestSchemasRefuseMoneyAsANumberAndHalfEvents(t *testing.T) {
	t.Parallel()
	require.Nil(t, model.Schema("nothing"))
	e, err := model.NewDiffEvent(model.DiffOpened, sampleDiff(), time.Unix(1, 0))
	require.NoError(t, err)
	s := schema(t, "diff")
	for field, bad := range map[string]any{
		"delta": 1.5, "ledger_amount": 2, "channel_amount": "1e3", "kind": "other", "version": 0, "biz_date": "2026-13-01", "reasons": []any{}, "diff_id": "x",
	} {
		var data map[string]any
		require.NoError(t, json.Unmarshal(e.Data, &data))
		require.NoError(t, s.Validate(data))
		data[field] = bad
		require.Error(t, s.Validate(data), field)
		delete(data, field)
		require.Error(t, s.Validate(data), "without %s", field)
	}
	require.NotContains(t, string(e.Data), "null")
}

func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 31, 9, 0, 0, 0, time.UTC)
	elsewhere := at.In(zone(t, "Asia/Shanghai"))
	a, err := model.NewDiffEvent(model.DiffOpened, sampleDiff(), at)
	require.NoError(t, err)
	b, err := model.NewDiffEvent(model.DiffOpened, sampleDiff(), elsewhere)
	require.NoError(t, err)
	require.Equal(t, mustJSON(t, a), mustJSON(t, b))
	r := model.Review{State: model.ReviewAccepted, At: at, Step: 2}
	a, err = model.NewReviewEvent(sampleDiff(), r)
	require.NoError(t, err)
	r.At = elsewhere
	b, err = model.NewReviewEvent(sampleDiff(), r)
	require.NoError(t, err)
	require.Equal(t, mustJSON(t, a), mustJSON(t, b))
	for range 50 { // map order must not show
		batch := model.Batch{Job: "j", Day: 1, Version: 1, CommittedAt: at, Balance: *balanced(), Diffs: map[model.Kind]uint64{model.KindAmount: 1, model.KindStatus: 2, model.KindCurrency: 3}}
		a, err = model.NewCommittedEvent(batch, 6, false)
		require.NoError(t, err)
		batch.CommittedAt, batch.Balance = elsewhere, *balanced()
		b, err = model.NewCommittedEvent(batch, 6, false)
		require.NoError(t, err)
		require.Equal(t, mustJSON(t, a), mustJSON(t, b))
	}
}
