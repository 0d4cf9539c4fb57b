package mt940

import (
	"context"
	"regexp"
	"strings"

	"daybreak/pkg/source/bill"
)

// The attributes of a row, in this order.
var attrs = []string{
	"account", "value_date", "entry_date", "raw_dates", "transaction_type", "customer_reference", "bank_reference",
	"counterparty_account", "counterparty_name", "remittance",
}

var format = &bill.Format{
	Name:     "mt940",
	Title:    "bank statement in SWIFT MT940",
	Charsets: []string{"utf-8", "windows-1252"},
	Attrs:    attrs,
	Types:    []bill.Type{bill.BankCredit, bill.BankDebit},
	Fits:     func(h bill.Head) bool { return messageType(h) == statement },
	Read: func(ctx context.Context, d *bill.Doc, out *bill.Out) error {
		lines, err := d.Lines()
		if err != nil {
			return err
		}
		p := &parser{lines: lines, out: out, zone: d.Zone, days: d.NewDays(), accounts: map[string]*chain{}}
		return p.run(ctx)
	},
}

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return []*bill.Format{format} }

// Strangers are other SWIFT messages about accounts.
func Strangers() []bill.Stranger {
	return []bill.Stranger{
		{Title: "an interim report of a bank (SWIFT MT942)", Advice: adviceInterim, Fits: func(h bill.Head) bool { return messageType(h) == interim }},
		{Title: "a balance report of a bank (SWIFT MT941)", Advice: adviceInterim, Fits: func(h bill.Head) bool { return messageType(h) == balances }},
	}
}

const adviceInterim = "its figures may still change and there is nothing to check them against; ask the bank for the statement of the day, MT940 or camt.053"

// kind of SWIFT message.
type kind int

const (
	other kind = iota
	statement
	interim
	balances
)

const headLinesMax = 200

var (
	blockType = regexp.MustCompile(`\{2:[IO](\d{3})`)
	tagLine   = regexp.MustCompile(`^:(\d\d[A-Z]?|NS):`)
	// preamble is what stands before messages besides blocks: names of banks and kinds of message.
	preamble = regexp.MustCompile(`^(?::94\d:|[A-Z0-9 ]{1,60})$`)
)

// messageType looks for the first tag after at most a few other lines, and for what tells statements from reports.
func messageType(h bill.Head) kind {
	tags := headTags(h)
	if len(tags) == 0 {
		return other
	}
	has := func(names ...string) bool {
		for _, n := range names {
			if tags[n] {
				return true
			}
		}
		return false
	}
	if m := blockType.FindStringSubmatch(h.Text[:min(len(h.Text), 1<<10)]); m != nil {
		switch m[1] {
		case "942":
			return interim
		case "941":
			return balances
		}
	}
	switch {
	case has("61", "60F", "60M") && !has("60F", "60M") && has("34F", "90C", "90D"), has("34F") && !has("60F", "60M"):
		return interim
	case has("90C", "90D") && has("60F") && !has("61"):
		return balances
	}
	return statement
}

// headTags are the tags in the first lines, none when the document does not begin as a SWIFT message does.
func headTags(h bill.Head) map[string]bool {
	tags := map[string]bool{}
	before := 0
	for _, line := range h.Lines(headLinesMax) {
		line = strings.Trim(line, controls)
		if m := tagLine.FindStringSubmatch(line); m != nil && known[m[1]] {
			tags[m[1]] = true
			continue
		}
		if len(tags) > 0 {
			continue
		}
		if before++; before > 20 || len(line) > 300 {
			return nil
		}
	}
	return tags
}
