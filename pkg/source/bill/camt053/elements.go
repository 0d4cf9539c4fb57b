package camt053

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// money is an amount without sign.
type money struct {
	Value    string `xml:",chardata"`
	Currency string `xml:"Ccy,attr"`
}

// Elements that are taken as a whole. Lists where the standard has one element let a second one be refused.
type (
	balance struct {
		Code      []string `xml:"Tp>CdOrPrtry>Cd"`
		Amount    []money  `xml:"Amt"`
		Indicator []string `xml:"CdtDbtInd"`
		Date      day      `xml:"Dt"`
	}
	day struct {
		Date string `xml:"Dt"`
		Time string `xml:"DtTm"`
	}
	pagination struct {
		Number string `xml:"PgNb"`
		Last   string `xml:"LastPgInd"`
	}
	summary struct {
		All    totals `xml:"TtlNtries"`
		Credit totals `xml:"TtlCdtNtries"`
		Debit  totals `xml:"TtlDbtNtries"`
	}
	totals struct {
		Count string `xml:"NbOfNtries"`
		Sum   string `xml:"Sum"`
	}
	code struct {
		Domain    string `xml:"Domn>Cd"`
		Family    string `xml:"Domn>Fmly>Cd"`
		SubFamily string `xml:"Domn>Fmly>SubFmlyCd"`
		Own       string `xml:"Prtry>Cd"`
	}
	party struct {
		Name     string `xml:"Nm"`
		NameDeep string `xml:"Pty>Nm"` // since version 08
	}
	number struct {
		IBAN  string `xml:"Id>IBAN"`
		Other string `xml:"Id>Othr>Id"`
	}
	charges struct {
		Amount    []money  `xml:"Amt"` // in version 02
		Indicator []string `xml:"CdtDbtInd"`
		Records   []struct {
			Amount    []money  `xml:"Amt"`
			Indicator []string `xml:"CdtDbtInd"`
		} `xml:"Rcrd"`
		Total []money `xml:"TtlChrgsAndTaxAmt"`
	}
	status struct {
		Word string `xml:",chardata"`
		Code string `xml:"Cd"` // since version 08
	}
	batch struct {
		Payment string `xml:"PmtInfId"`
		Count   string `xml:"NbOfTxs"`
	}
	transaction struct {
		EndToEnd   string    `xml:"Refs>EndToEndId"`
		Payment    string    `xml:"Refs>PmtInfId"`
		Bank       string    `xml:"Refs>AcctSvcrRef"`
		Amount     []money   `xml:"Amt"`
		Indicator  []string  `xml:"CdtDbtInd"`
		AmountDeep []money   `xml:"AmtDtls>TxAmt>Amt"`
		Charges    []charges `xml:"Chrgs"`
		Code       code      `xml:"BkTxCd"`
		Debtor     party     `xml:"RltdPties>Dbtr"`
		DebtorAt   number    `xml:"RltdPties>DbtrAcct"`
		Creditor   party     `xml:"RltdPties>Cdtr"`
		CreditorAt number    `xml:"RltdPties>CdtrAcct"`
		Text       []string  `xml:"RmtInf>Ustrd"`
		References []string  `xml:"RmtInf>Strd>CdtrRefInf>Ref"`
		More       []string  `xml:"RmtInf>Strd>AddtlRmtInf"`
		Reason     string    `xml:"RtrInf>Rsn>Cd"`
		Additional string    `xml:"AddtlTxInf"`
	}
)

func (c code) String() string {
	if c.Domain == "" {
		return clip(c.Own)
	}
	return clip(strings.Join([]string{trim(c.Domain), trim(c.Family), trim(c.SubFamily)}, "/"))
}

func (n number) String() string { return clip(first(n.IBAN, n.Other)) }

func (p party) String() string {
	return text.Clip(strings.Join(strings.Fields(first(p.Name, p.NameDeep)), " "), wordMax)
}

func (t totals) empty() bool { return trim(t.Count) == "" && trim(t.Sum) == "" }

const (
	wordMax       = 140  // characters of a reference or a name
	remittanceMax = 1000 // characters of free text
	keyBytesMax   = 255  // of a reference; longer ones are refused
)

// trim takes away the blanks and line ends that programs put around values.
func trim(s string) string { return strings.TrimSpace(s) }

func clip(s string) string { return text.Clip(trim(s), wordMax) }

// first is the first that is not blank.
func first(of ...string) string {
	for _, s := range of {
		if s = trim(s); s != "" {
			return s
		}
	}
	return ""
}

// reference is a reference, "" for the words that say there is none.
func reference(s string) string {
	switch s = text.Clip(trim(s), 2*keyBytesMax); strings.ToUpper(s) {
	case "NOTPROVIDED", "NOT PROVIDED", "NOTAVAILABLE", "NONREF", "NONE", "UNKNOWN":
		return ""
	}
	return s
}

var errAmount = errors.New("want digits and a decimal point, no sign, at most 5 decimals")

// plainAmount reads an amount without sign. Zeros in front are allowed.
func plainAmount(written string) (decimal.Decimal, error) {
	s := trim(written)
	_, frac, _ := strings.Cut(s, ".")
	if strings.ContainsAny(s, "+-") || len(frac) > 5 {
		return decimal.Decimal{}, fmt.Errorf("amount %q: %w", text.Clip(s, 40), errAmount)
	}
	return bill.ParseMoney(s)
}

// signed reads one amount and the indicator of its direction.
func signed(amounts []money, indicators []string) (value decimal.Decimal, currency string, err error) {
	if len(amounts) != 1 {
		return value, "", fmt.Errorf("%d elements Amt, want one", len(amounts))
	}
	if len(indicators) != 1 {
		return value, "", fmt.Errorf("%d elements CdtDbtInd, want one", len(indicators))
	}
	if value, err = plainAmount(amounts[0].Value); err != nil {
		return value, "", err
	}
	if currency, err = bill.CheckCurrency(amounts[0].Currency); err != nil {
		return value, "", err
	}
	switch trim(indicators[0]) {
	case "CRDT":
		return value, currency, nil
	case "DBIT":
		return value.Neg(), currency, nil
	}
	return value, "", fmt.Errorf("CdtDbtInd %q: want CRDT or DBIT", text.Clip(trim(indicators[0]), 40))
}

// check returns what cannot be read of the amounts of charges that name one.
func (c charges) check() error {
	one := func(amounts []money, indicators []string) error {
		if len(indicators) == 0 {
			indicators = []string{"DBIT"}
		}
		if len(amounts) != 1 || len(indicators) != 1 {
			return nil
		}
		_, _, err := signed(amounts, indicators)
		return err
	}
	all := []error{one(c.Amount, c.Indicator)}
	for _, r := range c.Records {
		all = append(all, one(r.Amount, r.Indicator))
	}
	return errors.Join(all...)
}

// chargesOf sums charges, negative when taken, ok when all are in the currency. A charge without direction was taken.
func chargesOf(list []charges, currency string) (sum decimal.Decimal, ok bool) {
	add := func(amounts []money, indicators []string) bool {
		if len(indicators) == 0 {
			indicators = []string{"DBIT"}
		}
		value, in, err := signed(amounts, indicators)
		sum = sum.Add(value)
		return err == nil && in == currency
	}
	for _, c := range list {
		switch {
		case len(c.Records) > 0:
			for _, r := range c.Records {
				if !add(r.Amount, r.Indicator) {
					return decimal.Zero, false
				}
			}
		case len(c.Amount) > 0:
			if !add(c.Amount, c.Indicator) {
				return decimal.Zero, false
			}
		case len(c.Total) > 0:
			if !add(c.Total, nil) {
				return decimal.Zero, false
			}
		}
	}
	return sum, true
}

var reDate = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:Z|[+-]\d\d:\d\d)?$`)

// when gives the date of a day, and its instant as far as that can be told; see the package comment.
func (d day) when(zone *time.Location) (date string, instant time.Time, err error) {
	if clock := trim(d.Time); clock != "" {
		return clockOf(clock, zone)
	}
	written := trim(d.Date)
	if written == "" {
		return "", time.Time{}, nil
	}
	m := reDate.FindStringSubmatch(written)
	if m == nil {
		return "", time.Time{}, fmt.Errorf("date %q: want a date such as 2026-01-31", text.Clip(written, 40))
	}
	in := zone
	if in == nil {
		in = time.UTC
	}
	instant, err = text.Instants{Zone: in}.Parse(m[1])
	if err != nil || zone == nil {
		instant = time.Time{}
	}
	return m[1], instant, err
}

var reOffset = regexp.MustCompile(`T.*(?:Z|[+-]\d\d:?\d\d)$`)

// clockOf reads a date with a clock. The date is that in the zone when both zone and offset are there.
func clockOf(clock string, zone *time.Location) (date string, instant time.Time, err error) {
	in := zone
	if in == nil {
		in = time.UTC
	}
	if instant, err = (text.Instants{Zone: in}).Parse(clock); err != nil {
		return "", time.Time{}, err
	}
	if instant.IsZero() || len(clock) < len(dayLayout) {
		return "", time.Time{}, fmt.Errorf("instant %q: no such date", text.Clip(clock, 40))
	}
	date = clock[:len(dayLayout)]
	switch offset := reOffset.MatchString(clock); {
	case offset && zone != nil:
		date = instant.In(zone).Format(dayLayout)
	case !offset && zone == nil:
		instant = time.Time{}
	}
	return date, instant, nil
}

const dayLayout = "2006-01-02"
