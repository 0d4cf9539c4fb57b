package unionpay

import (
	"bytes"

	"daybreak/pkg/source/bill"
)

// Formats are the bills that this package reads.
func Formats() []*bill.Format {
	return []*bill.Format{
		{
			Name: "unionpay-zm", Title: "UnionPay merchant file of transactions (ZM)", Charsets: []string{"gb18030"},
			Attrs: zmAttrs, Types: []bill.Type{bill.Payment, bill.Refund, bill.Reversal},
			Fits: func(h bill.Head) bool { return kind(h) == isZM }, Read: readZM,
		},
		{
			Name: "unionpay-zme", Title: "UnionPay merchant file of disputes and corrections (ZME)", Charsets: []string{"gb18030"},
			Attrs: zmeAttrs, Types: []bill.Type{bill.Adjustment},
			Fits: func(h bill.Head) bool { return kind(h) == isZME }, Read: readZME,
		},
	}
}

// Strangers are files of the same provider that are no bills.
func Strangers() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  "a UnionPay file for member banks (ACOMN and its kin)",
			Advice: "merchants are settled by the files ZM and ZME: give those, or name the columns of a csv made from this one",
			Fits:   fitsBank,
		},
		{
			Title:  "the answer of UnionPay that holds a file",
			Advice: "decode its fileContent from base64, inflate it, and give the zip that comes out",
			Fits: func(h bill.Head) bool {
				return bytes.Contains(h.Raw, []byte("fileContent=")) && bytes.Contains(h.Raw, []byte("respCode="))
			},
		},
	}
}

type fileKind int

const (
	isOther fileKind = iota
	isZM
	isZME
)

// kind tells by the fields that both kinds begin with, so that lines of a wrong length are still claimed, and by the
// length of the first line.
func kind(h bill.Head) fileKind {
	line, _, _ := bytes.Cut(h.Raw, []byte("\n"))
	if !begins(line) {
		return isOther
	}
	if n := len(bytes.TrimSuffix(line, []byte("\r"))); n > (zm.bytes+zme.bytes)/2 {
		return isZM
	}
	return isZME
}

// begins reports whether a line begins with the fields from the code to the amount.
func begins(line []byte) bool {
	if len(line) < zme.end(6)+1 {
		return false
	}
	for i := range 7 {
		if line[zme.end(i)] != ' ' {
			return false
		}
	}
	return isCode(zme.cut(line, 0)) && digits(zme.cut(line, 3)) && digits(zme.cut(line, 4)) && digits(zme.cut(line, 6))
}

// fitsBank knows the files of banks, which begin with two institutions, a trace number and a time.
func fitsBank(h bill.Head) bool {
	line, _, _ := bytes.Cut(h.Raw, []byte("\n"))
	at := []int{11, 23, 30, 41, 61, 74}
	if len(line) <= at[5] || !digits(line[:8]) {
		return false
	}
	for _, i := range at {
		if line[i] != ' ' {
			return false
		}
	}
	return digits(line[24:30]) && digits(line[31:41]) && digits(line[62:74])
}

// isCode reports whether a field is a transaction code such as S22.
func isCode(b []byte) bool {
	return len(b) == 3 && b[0] >= 'A' && b[0] <= 'Z' && digits(b[1:])
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
