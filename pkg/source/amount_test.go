package source

import (
	"strings"
	"testing"
)

// FuzzAmountColumn proves that what is accepted as an amount is exactly what was written.
func FuzzAmountColumn(f *testing.F) {
	for _, seed := range []string{"", "1", "-0.10", "+1.00000000", "1,5", "1e3", ".5", "00012", "--1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseMoney(text)
		if err != nil || text == "" {
			if d.Valid {
				t.Fatal("valid without being an amount")
			}
			return
		}
		whole, frac, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
		written := strings.TrimLeft(whole, "0") + "." + strings.TrimRight(frac, "0")
		whole, frac, _ = strings.Cut(strings.TrimLeft(d.Decimal.String(), "-"), ".")
		if kept := strings.TrimLeft(whole, "0") + "." + frac; kept != written {
			t.Fatalf("%q became %s", text, d.Decimal)
		}
	})
}
