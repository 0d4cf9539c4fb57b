package bill

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// currenciesCSV is the table of currencies: code, exponent by ISO 4217, and one column per provider and file kind that
// counts in minor units by a table of its own; an empty cell means as ISO says, "-" that the provider has no such currency.
//
//go:embed currencies.csv
var currenciesCSV string

// Exponents names a column of the table of currencies: by whose rules integers are minor units.
type Exponents string

// table maps a currency to its exponents by column.
var table, columns = readTable(currenciesCSV)

func readTable(content string) (map[string][]string, map[Exponents]int) {
	r := csv.NewReader(strings.NewReader(content))
	r.Comment = '#'
	all, err := r.ReadAll()
	if err != nil {
		panic("currencies.csv: " + err.Error())
	}
	cols := map[Exponents]int{}
	for i, name := range all[0] {
		cols[Exponents(name)] = i
	}
	out := map[string][]string{}
	for _, row := range all[1:] {
		out[row[0]] = row
	}
	return out, cols
}

// ISO is the column of ISO 4217.
const ISO Exponents = "iso"

// CheckCurrency trims and upper-cases a currency and returns it when the table knows it. An unknown one is an error:
// two decimals are never assumed.
func CheckCurrency(written string) (string, error) {
	code := strings.ToUpper(strings.TrimSpace(written))
	if _, ok := table[code]; !ok {
		if code == "" {
			return "", fmt.Errorf("the currency is empty")
		}
		return "", fmt.Errorf("currency %q is not known: it is no code of ISO 4217; tell us when it should be", text.Clip(written, 20))
	}
	return code, nil
}

// Exponent is how many decimals a minor unit of the currency stands for.
func (e Exponents) Exponent(currency string) (int, error) {
	code, err := CheckCurrency(currency)
	if err != nil {
		return 0, err
	}
	col, ok := columns[e]
	if !ok {
		return 0, fmt.Errorf("no exponents are known for %q", string(e))
	}
	switch cell := table[code][col]; cell {
	case "":
		return strconv.Atoi(table[code][columns[ISO]])
	case "-":
		return 0, fmt.Errorf("currency %s: %s does not have it", code, string(e))
	default:
		return strconv.Atoi(cell)
	}
}

// CheckDecimals refuses an amount in major units that has more decimals than the currency, by ISO 4217 and by the rules of
// the provider: 48.25 yen is dollars under a wrong currency.
func CheckDecimals(d decimal.Decimal, currency string, by Exponents) error {
	if currency == "" || d.IsInteger() {
		return nil
	}
	most, err := ISO.Exponent(currency)
	if err != nil {
		return err
	}
	if own, err := by.Exponent(currency); err == nil {
		most = max(most, own)
	}
	if !d.Equal(d.Truncate(int32(most))) { //nolint:gosec // at most 4
		return fmt.Errorf("%s %s: the currency has %d decimals, so that the amount or the currency is wrong", d, currency, most)
	}
	return nil
}

// Minor reads an integer of minor units, such as 2500 yen or 2500 cents, as an exact amount in major units.
func (e Exponents) Minor(written, currency string) (decimal.Decimal, error) {
	exponent, err := e.Exponent(currency)
	if err != nil {
		return decimal.Decimal{}, err
	}
	n, err := ParseMoney(written)
	if err != nil {
		return decimal.Decimal{}, err
	}
	if strings.Contains(written, ".") {
		return decimal.Decimal{}, fmt.Errorf("amount %q: want whole minor units: %w", text.Clip(written, 40), model.ErrAmount)
	}
	return n.Shift(int32(-exponent)), nil //nolint:gosec // at most 4
}
