// Package razorpay reads the settlement recon of Razorpay.
package razorpay

import "daybreak/pkg/source/bill"

// Formats are the bills that this package reads.
func Formats() []*bill.Format { return nil }

// Strangers are files of the same providers that are no bills.
func Strangers() []bill.Stranger { return nil }
