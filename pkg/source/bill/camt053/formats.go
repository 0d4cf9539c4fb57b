package camt053

import (
	"context"
	"regexp"
	"strings"

	"daybreak/pkg/source/bill"
)

// The attributes of a row, in this order.
var attrs = []string{
	"account", "value_date", "entry_date", "transaction_type", "creditor_reference", "counterparty_account",
	"counterparty_name", "return_reason", "reversal", "remittance",
}

var format = &bill.Format{
	Name:     "camt053",
	Title:    "bank statement in ISO 20022 camt.053",
	Charsets: []string{"utf-8", "windows-1252"},
	Attrs:    attrs,
	Types:    []bill.Type{bill.BankCredit, bill.BankDebit, bill.Fee, bill.FeeRefund},
	Fits: func(h bill.Head) bool {
		return message(h) == "camt.053" || strings.Contains(begin(h), "<BkToCstmrStmt>")
	},
	Read: func(ctx context.Context, d *bill.Doc, out *bill.Out) error {
		in, check, err := d.Text()
		if err != nil {
			return err
		}
		return newParser(in, check, d, out).run(ctx)
	},
}

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return []*bill.Format{format} }

// Strangers are other messages of ISO 20022 that people take for statements.
func Strangers() []bill.Stranger {
	is := func(name string) func(bill.Head) bool {
		return func(h bill.Head) bool { return message(h) == name }
	}
	const ask = "ask the bank for the statement of the day, camt.053 or MT940"
	return []bill.Stranger{
		{Title: "an account report of a bank (camt.052)", Advice: "its figures may still change during the day; " + ask, Fits: is("camt.052")},
		{Title: "a notification of a bank (camt.054)", Advice: "it has no balances, so nothing tells whether it is whole; " + ask, Fits: is("camt.054")},
		{Title: "an order to a bank (pain.001)", Advice: "it says what was asked for, not what was booked; " + ask, Fits: is("pain.001")},
		{Title: "a bank's answer to an order (pain.002)", Advice: "it says what was accepted, not what was booked; " + ask, Fits: is("pain.002")},
		{Title: "a collection order to a bank (pain.008)", Advice: "it says what was asked for, not what was booked; " + ask, Fits: is("pain.008")},
	}
}

const headBytesMax = 8 << 10

// begin is where the root and its namespace stand.
func begin(h bill.Head) string {
	if !h.Begins("<") {
		return ""
	}
	return h.Text[:min(len(h.Text), headBytesMax)]
}

var namespace = regexp.MustCompile(`["']urn:iso:std:iso:20022:tech:xsd:((?:camt|pain)\.\d{3})\.\d{3}\.\d{2}["']`)

// message is the kind of message by the namespace of the document, "" for anything else.
func message(h bill.Head) string {
	m := namespace.FindStringSubmatch(begin(h))
	if m == nil {
		return ""
	}
	return m[1]
}
