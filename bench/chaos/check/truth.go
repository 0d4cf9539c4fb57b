package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/bench/accept/oracle"
)

func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}

// reconciled is what the oracle makes of the files as they are at the end.
func (h *History) reconciled() (map[string][]oracle.Outcome, error) {
	out := map[string][]oracle.Outcome{}
	for _, rules := range oracle.Jobs() {
		for _, j := range h.Jobs {
			if j.Name != rules.Name {
				continue
			}
			from, err := time.Parse(time.DateOnly, j.Start)
			if err != nil {
				return nil, err
			}
			if out[j.Name], err = rules.Reconcile(filepath.Join(h.Dir, "final", "sources"), from, len(j.Days())); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Truth: what is shown at the end is what an independent reading and comparing of the files makes of them (G3, G7).
func Truth(h *History) []Violation {
	f := &finder{guarantee: "G7"}
	outcomes, err := h.reconciled()
	if err != nil {
		f.at("", "", "the files cannot be compared: %v", err)
		return f.out
	}
	var want, have, pool, waiting []string
	for _, j := range h.Jobs {
		days := j.Days()
		for d, o := range outcomes[j.Name] {
			for _, x := range o.Diffs {
				want = append(want, Row{
					"diff_id": "", "kind": x.Kind, "state": "open", "key": x.Key, "currency": x.Currency, "ledger_count": x.LedgerCount, "channel_count": x.ChannelCount,
					"ledger_amount": x.Ledger, "channel_amount": x.Channel, "delta": x.Delta, "ledger_status": x.LedgerStatus, "channel_status": x.ChannelStatus,
					"origin_date": days[x.Origin],
				}.truth(j.Name, days[d]))
			}
			for _, p := range o.Pool {
				waiting = append(waiting, fmt.Sprintf("%s %s: %s %s %s %s from %s", j.Name, days[d], p.Side, p.Key, p.Amount, p.Currency, days[p.Origin]))
			}
		}
	}
	for _, d := range h.Diffs {
		if d.Text("state") == "open" {
			have = append(have, d.truth(d.Text("job"), d.Text("biz_date")))
		}
	}
	for _, e := range h.Carried {
		pool = append(pool, fmt.Sprintf("%s %s: %s %s %s %s from %s", e.Text("job"), e.Text("biz_date"), e.Text("side"), e.Text("match_key"), e.Text("amount"), e.Text("currency"), e.Text("origin_date")))
	}
	f.same("the oracle has", want, "the table has", have)
	f.same("with the oracle waits", waiting, "here waits", pool)
	f.need(len(want), "difference")
	return f.out
}

// truth is a diff without its id, which is the product's own.
func (r Row) truth(job, day string) string {
	return fmt.Sprintf("%s %s: %s", job, day, Row.figures(merge(r, Row{"diff_id": ""})))
}

func merge(a, b Row) Row {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// money is a count and a sum.
type money struct {
	n      int64
	amount decimal.Decimal
}

func (m money) plus(n int64, amount decimal.Decimal) money {
	return money{m.n + n, m.amount.Add(amount)}
}

func (m money) String() string { return fmt.Sprintf("%d entries, %s", m.n, m.amount) }

// account is one side of one batch in one currency.
type account struct{ job, day, side, currency string }

// Balance: every day balances with its files, and what balances does so from the rows alone (G7): the entries are those of
// the file, what a day hands on is what the next takes over, and what neither differs nor waits agrees on both sides within
// the tolerance.
func Balance(h *History) []Violation {
	f := &finder{guarantee: "G7"}
	in, carriedIn, out, different := map[account]money{}, map[account]money{}, map[account]money{}, map[account]money{}
	for _, e := range h.Entries {
		at, amount := account{e.Text("job"), e.Text("biz_date"), e.Text("side"), e.Text("currency")}, f.amount(e, "amount")
		if e.Number("carried") == 1 {
			carriedIn[at] = carriedIn[at].plus(1, amount)
		} else {
			in[at] = in[at].plus(1, amount)
		}
	}
	for _, e := range h.Carried {
		at := account{e.Text("job"), e.Text("biz_date"), e.Text("side"), e.Text("currency")}
		out[at] = out[at].plus(1, f.amount(e, "amount"))
	}
	for _, d := range h.Diffs {
		if d.Text("state") != "open" {
			continue
		}
		parts, _ := d["amounts"].([]any)
		for _, p := range parts {
			part, _ := p.(map[string]any)
			for _, side := range []string{"ledger", "channel"} {
				at := account{d.Text("job"), d.Text("biz_date"), side, Row(part).Text("currency")}
				different[at] = different[at].plus(int64(Row(part).Number(side+"_count")), f.amount(Row(part), side))
			}
		}
	}
	f.need(len(in), "entry")
	for _, j := range h.Jobs {
		h.balance(f, j, in, carriedIn, out, different)
	}
	return f.out
}

func (f *finder) amount(r Row, column string) decimal.Decimal {
	d, err := decimal.NewFromString(r.Text(column))
	if err != nil {
		f.at(r.Text("job"), r.Text("biz_date"), "%s is %q", column, r.Text(column))
	}
	return d
}

func (h *History) balance(f *finder, j Job, in, carriedIn, out, different map[account]money) {
	rules, ok := h.rules(j.Name)
	if !ok {
		f.at(j.Name, "", "nobody knows the files of this job")
		return
	}
	days := j.Days()
	for i, day := range days {
		for side, form := range map[string]oracle.Form{"ledger": rules.Ledger, "channel": rules.Channel} {
			for currency, file := range h.file(f, form, j.Name, day) {
				if have := in[account{j.Name, day, side, currency}]; have.n != file.n || !have.amount.Equal(file.amount) {
					f.at(j.Name, day, "the %s file holds %s %s, the tables %s", side, file, currency, have)
				}
			}
		}
		for _, currency := range []string{"CNY", "USD", "GBP", "EUR"} {
			matched := map[string]money{}
			for _, side := range []string{"ledger", "channel"} {
				at := account{j.Name, day, side, currency}
				matched[side] = in[at].plus(carriedIn[at].n-different[at].n-out[at].n, carriedIn[at].amount.Sub(different[at].amount).Sub(out[at].amount))
				if i > 0 {
					before := out[account{j.Name, days[i-1], side, currency}]
					if before.n != carriedIn[at].n || !before.amount.Equal(carriedIn[at].amount) {
						f.at(j.Name, day, "%s handed on %s %s of the %s, this day took over %s", days[i-1], before, currency, side, carriedIn[at])
					}
				}
				if matched[side].n < 0 {
					f.at(j.Name, day, "more of the %s differs and waits than there is: %s %s", side, matched[side], currency)
				}
			}
			accepted := decimal.NewFromBigRat(tolerance(rules, currency), 8).Mul(decimal.NewFromInt(max(matched["ledger"].n, matched["channel"].n)))
			if apart := matched["ledger"].amount.Sub(matched["channel"].amount).Abs(); apart.GreaterThan(accepted) {
				f.at(j.Name, day, "what settled is %s %s in the ledger and %s in the channel", matched["ledger"], currency, matched["channel"])
			}
			if !rules.Rules.Sum && matched["ledger"].n != matched["channel"].n {
				f.at(j.Name, day, "%d entries of the ledger settled with %d of the channel, in %s", matched["ledger"].n, matched["channel"].n, currency)
			}
		}
	}
}

func (h *History) rules(job string) (oracle.Job, bool) {
	for _, j := range oracle.Jobs() {
		if j.Name == job {
			return j, true
		}
	}
	return oracle.Job{}, false
}

func tolerance(j oracle.Job, currency string) *big.Rat {
	r, ok := new(big.Rat).SetString(j.Rules.Tolerance[currency])
	if !ok {
		return new(big.Rat)
	}
	return r
}

// file is what a file holds by currency.
func (h *History) file(f *finder, form oracle.Form, job, day string) map[string]money {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		f.at(job, day, "no day: %v", err)
		return nil
	}
	entries, err := form.Read(filepath.Join(h.Dir, "final", "sources"), at)
	if err != nil {
		f.at(job, day, "%v", err)
	}
	out := map[string]money{}
	for _, e := range entries {
		out[e.Currency] = out[e.Currency].plus(1, decimal.NewFromBigRat(e.Amount, 8))
	}
	return out
}
