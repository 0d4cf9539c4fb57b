package text

import "strings"

// IsSpreadsheetNumber knows 4.2E+27: one digit, perhaps a fraction, an exponent with a plus. An id that looks so has lost
// its digits on the way through a spreadsheet.
func IsSpreadsheetNumber(s string) bool {
	mantissa, exponent, ok := strings.Cut(s, "E+")
	if !ok {
		mantissa, exponent, ok = strings.Cut(s, "e+")
	}
	if !ok {
		return false
	}
	whole, frac, point := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	return len(whole) == 1 && digits(whole) && digits(exponent) && (!point || digits(frac))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
