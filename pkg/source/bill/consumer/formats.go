package consumer

import (
	"slices"

	"daybreak/pkg/source/bill"
)

// Formats are the bills that this package reads: none.
func Formats() []*bill.Format { return nil }

// Strangers are files that are no bills, the special before the general.
func Strangers() []bill.Stranger {
	return slices.Concat(wallets(), banks(), statements(), answers(), documents(), tables())
}
