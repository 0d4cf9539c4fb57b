package auditor

import "github.com/shopspring/decimal"

// plotted is the one place where money becomes a float: a gauge has no other type. It is the nearest float64, for a line
// on a screen; nothing is computed from it and nothing is decided by it. The exact figure stays in the tables.
func plotted(d decimal.Decimal) float64 { return d.InexactFloat64() } //nolint:forbidigo // for plots only, see above
