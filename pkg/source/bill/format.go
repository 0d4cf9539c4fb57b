package bill

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Format reads one kind of bill. It is data: a package below this one makes it, the registry lists it.
type Format struct {
	Name  string // as in bill.format of a configuration, such as "wechatpay-trade"
	Title string // for people, such as "WeChat Pay trade bill"

	// Charsets are tried in this order when there is no byte order mark: names of [text.Encodings]. None means utf-8.
	Charsets []string

	// Attrs are the attributes that rows have besides [Common], in the order of [Row].Attrs.
	Attrs []string

	// Types are the types of row that the format can yield.
	Types []Type

	// Fits tells by the beginning of a document whether it is of this format, or tries to be: a header with an unknown
	// column is, so that [Format].Read can say what is wrong with it. No two formats may fit the same document.
	Fits func(Head) bool

	// Read hands every row of the document on. An error ends the reading; what is wrong with single fields is noted in
	// [Out] and the reading goes on. A row's memory is the caller's again after [Out.Row].
	Read func(ctx context.Context, d *Doc, out *Out) error

	// Companion names the format whose files this one accompanies in a zip, such as a summary: it yields no rows, only
	// figures that must agree. "" for bills.
	Companion string
}

// Type is what happened, in the same words for every provider.
type Type string

// The types of row.
const (
	Payment            Type = "payment"             // a customer paid
	Refund             Type = "refund"              // money went back to a customer
	Reversal           Type = "reversal"            // a payment was undone before it settled, or a refund was
	Chargeback         Type = "chargeback"          // a bank took a payment back, or part of it
	ChargebackReversal Type = "chargeback_reversal" // and returned it
	Fee                Type = "fee"                 // the provider took a fee, as a line of its own
	FeeRefund          Type = "fee_refund"          // and returned one
	Payout             Type = "payout"              // the provider paid out to our bank, or we withdrew
	Topup              Type = "topup"               // we paid in
	Conversion         Type = "conversion"          // one half of a change of currency
	Transfer           Type = "transfer"            // between accounts at the provider
	Hold               Type = "hold"                // set aside
	Release            Type = "release"             // and set free
	Adjustment         Type = "adjustment"          // a correction by the provider
	BankCredit         Type = "bank_credit"         // a bank statement: money came
	BankDebit          Type = "bank_debit"          // and went
)

// Types lists all types.
var Types = []Type{
	Payment, Refund, Reversal, Chargeback, ChargebackReversal, Fee, FeeRefund, Payout, Topup, Conversion, Transfer, Hold,
	Release, Adjustment, BankCredit, BankDebit,
}

// The attributes that rows of every format have.
const (
	AttrType  = "type"  // see [Types]
	AttrOrder = "order" // the merchant's order number, else the key; never empty
	AttrBatch = "batch" // the provider's settlement or payout id, "" when there is none
)

// Common are the attributes of every format. They are never part of [Format].Attrs.
var Common = []string{AttrType, AttrOrder, AttrBatch}

// Row is one line of a bill.
type Row struct {
	Line, Column int // where the record begins, from 1

	Key        string // see the package comment; never empty
	Order      string // "" stands for the key
	ID         string // of this line at the provider, "" when it has none
	Type       Type
	Amount     decimal.Decimal     // signed, major units of Currency, money to us positive
	Currency   string              // checked against the table of currencies
	Status     string              // in the provider's word
	Fee        decimal.NullDecimal // signed, major units of Currency, positive when taken from us
	OccurredAt time.Time           // zero when the line has none
	Batch      string
	Attrs      []string // in the order of [Format].Attrs
}

// Head is the beginning of a document, for telling what it is.
type Head struct {
	Raw  []byte // the first bytes as they are, at most 64 KiB
	Text string // the same as text, without byte order mark; see [NewHead]
}

// Attributes lists all attributes of the format's rows.
func (f *Format) Attributes() []string { return append(slices.Clone(Common), f.Attrs...) }

// Has reports whether rows of the format have that attribute.
func (f *Format) Has(attr string) bool {
	return slices.Contains(Common, attr) || slices.Contains(f.Attrs, attr)
}
