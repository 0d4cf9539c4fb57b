package model

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"github.com/shopspring/decimal"
)

// EventKind is the last token of an event's subject.
type EventKind string

// The kinds of event on the DIFFS stream.
const (
	DiffOpened     EventKind = "opened"
	DiffChanged    EventKind = "changed"
	DiffCleared    EventKind = "cleared"
	DiffReviewed   EventKind = "reviewed"
	BatchCommitted EventKind = "committed"
	BatchFailed    EventKind = "failed"
)

// ContentType of an event message.
const ContentType = "application/cloudevents+json"

// Event is a CloudEvents 1.0 envelope in structured JSON mode. Its id is derived from what it tells, so a publication
// repeated after a crash bears the same id and a consumer that remembers ids sees every change exactly once.
type Event struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	DataSchema      string          `json:"dataschema"`
	Data            json.RawMessage `json:"data"`
}

// DiffData is the data of a diff event: the diff as the version has it. Amounts are decimal text.
type DiffData struct {
	BatchID       string              `json:"batch_id"`
	Job           string              `json:"job"`
	Day           Day                 `json:"biz_date"`
	Version       uint64              `json:"version"`
	DiffID        string              `json:"diff_id"`
	Kind          Kind                `json:"kind"`
	Reasons       []Kind              `json:"reasons"`
	Detail        string              `json:"detail,omitempty"`
	State         DiffState           `json:"state"`
	Key           string              `json:"key"`
	Currency      string              `json:"currency"`
	LedgerCount   uint64              `json:"ledger_count"`
	ChannelCount  uint64              `json:"channel_count"`
	LedgerAmount  decimal.NullDecimal `json:"ledger_amount"`
	ChannelAmount decimal.NullDecimal `json:"channel_amount"`
	Delta         decimal.NullDecimal `json:"delta"`
	LedgerStatus  string              `json:"ledger_status"`
	ChannelStatus string              `json:"channel_status"`
	LedgerRef     string              `json:"ledger_ref,omitempty"`
	ChannelRef    string              `json:"channel_ref,omitempty"`
	Amounts       []CurrencyAmounts   `json:"amounts"`
	Origin        Day                 `json:"origin_date"`
	Review        *Review             `json:"review,omitempty"` // on reviewed events
}

// BatchData is the data of a batch event. Events is the number of diff events of the version, so that a consumer knows
// when it has the whole day.
type BatchData struct {
	BatchID  string          `json:"batch_id"`
	Job      string          `json:"job"`
	Day      Day             `json:"biz_date"`
	RunID    string          `json:"run_id"`
	Version  uint64          `json:"version"`
	Fence    uint64          `json:"fence"`
	Cause    Cause           `json:"cause"`
	Events   uint64          `json:"events"`
	Full     bool            `json:"full,omitempty"` // the events tell the whole day: forget what was known of it before
	Diffs    map[Kind]uint64 `json:"diffs,omitzero"` // absent on failed events: nothing was compared to the end
	Balance  *Balance        `json:"balance,omitempty"`
	CarryOut string          `json:"carry_out,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// DataOf is the event data of a diff.
func (d Diff) DataOf() DiffData {
	return DiffData{
		BatchID: BatchID(d.Job, d.Day), Job: d.Job, Day: d.Day, Version: d.Version, DiffID: d.ID, Kind: d.Kind,
		Reasons: append([]Kind{}, d.Reasons...), Detail: d.Detail, State: d.State, Key: d.Key, Currency: d.Currency,
		LedgerCount: d.LedgerCount, ChannelCount: d.ChannelCount, LedgerAmount: d.LedgerAmount,
		ChannelAmount: d.ChannelAmount, Delta: d.Delta, LedgerStatus: d.LedgerStatus, ChannelStatus: d.ChannelStatus,
		LedgerRef: d.LedgerRef, ChannelRef: d.ChannelRef, Amounts: append([]CurrencyAmounts{}, d.Amounts...), Origin: d.Origin,
	}
}

// NewDiffEvent tells one change of a diff. at is the commit time of the version, so that a repeated publication is the
// same bytes.
func NewDiffEvent(kind EventKind, d Diff, at time.Time) (Event, error) {
	id := digest("event", BatchID(d.Job, d.Day), strconv.FormatUint(d.Version, 10), d.ID, string(kind))[:32]
	return newEvent(id, d.Job, "diff", kind, d.ID, at, d.DataOf())
}

// NewReviewEvent tells one step of a review. Its id is derived from diff and step.
func NewReviewEvent(d Diff, r Review) (Event, error) {
	r.At = r.At.UTC()
	data := d.DataOf()
	data.Review = &r
	id := digest("event", BatchID(d.Job, d.Day), d.ID, string(DiffReviewed), strconv.FormatUint(r.Step, 10))[:32]
	return newEvent(id, d.Job, "diff", DiffReviewed, d.ID, r.At, data)
}

// NewCommittedEvent closes the events of a version; events is how many diff events it had, and full says that they tell
// the whole day instead of what changed.
func NewCommittedEvent(b Batch, events uint64, full bool) (Event, error) {
	id := digest("event", b.ID(), strconv.FormatUint(b.Version, 10), string(BatchCommitted))[:32]
	diffs := map[Kind]uint64{} // printed also when empty: no diffs is something to tell
	maps.Copy(diffs, b.Diffs)
	return newEvent(id, b.Job, "batch", BatchCommitted, b.ID(), b.CommittedAt, BatchData{
		BatchID: b.ID(), Job: b.Job, Day: b.Day, RunID: b.RunID, Version: b.Version, Fence: b.Fence, Cause: b.Cause,
		Events: events, Full: full, Diffs: diffs, Balance: &b.Balance, CarryOut: b.CarryOut,
	})
}

// NewFailedEvent tells that an attempt failed; one per run and holding, as a run that committed and could not be finished
// is taken up again by another holder, which may fail in its own way.
func NewFailedEvent(job string, day Day, w Watermark, at time.Time) (Event, error) {
	id := digest("event", BatchID(job, day), w.RunID, strconv.FormatUint(w.Fence, 10), string(BatchFailed))[:32]
	return newEvent(id, job, "batch", BatchFailed, BatchID(job, day), at, BatchData{
		BatchID: BatchID(job, day), Job: job, Day: day, RunID: w.RunID, Version: w.Version, Fence: w.Fence, Cause: w.Cause,
		Error: w.Error,
	})
}

func newEvent(id, job, noun string, kind EventKind, subject string, at time.Time, data any) (Event, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return Event{}, err
	}
	return Event{
		SpecVersion: "1.0", ID: id, Source: "daybreak/" + job, Type: "daybreak." + noun + "." + string(kind),
		Subject: subject, Time: at.UTC(), DataContentType: "application/json",
		DataSchema: "urn:daybreak:schema:" + noun + ":v1", Data: body,
	}, nil
}
