// Package camt053 reads bank statements in ISO 20022 camt.053.
package camt053

import "daybreak/pkg/source/bill"

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return nil }

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger { return nil }
