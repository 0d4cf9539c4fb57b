package model_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
)

// balanced is a batch's balance that holds, with every part in use, in two currencies and with a tolerance used.
func balanced() *model.Balance {
	b := model.NewBalance()
	add := func(s model.Side, part func(*model.SideBalance) model.Totals, currency string, n uint64, amount string) {
		part(b.Side(s)).Add(currency, n, decimal.RequireFromString(amount))
	}
	for _, s := range model.Sides {
		for _, c := range []string{"CNY", "USD"} {
			add(s, in, c, 10, "100.00")
			add(s, carriedIn, c, 2, "7.5")
			add(s, different, c, 3, "-1.25")
			add(s, carriedOut, c, 1, "8.75")
		}
	}
	add(model.Ledger, matched, "CNY", 8, "100")
	add(model.Ledger, matched, "USD", 8, "100")
	add(model.Channel, matched, "CNY", 8, "100.01")
	add(model.Channel, in, "CNY", 0, "0.01")
	add(model.Channel, matched, "USD", 8, "100")
	b.MatchedDelta["CNY"] = decimal.RequireFromString("-0.01")
	return b
}

func in(s *model.SideBalance) model.Totals         { return s.In }
func carriedIn(s *model.SideBalance) model.Totals  { return s.CarriedIn }
func matched(s *model.SideBalance) model.Totals    { return s.Matched }
func different(s *model.SideBalance) model.Totals  { return s.Different }
func carriedOut(s *model.SideBalance) model.Totals { return s.CarriedOut }

func TestBalanceHolds(t *testing.T) {
	t.Parallel()
	require.NoError(t, balanced().Check())
	require.NoError(t, model.NewBalance().Check())
	require.NoError(t, (&model.Balance{}).Check(), "an empty day balances")
}

func TestBalanceCatchesEverySinglePerturbation(t *testing.T) {
	t.Parallel()
	cent := decimal.RequireFromString("0.00000001")
	parts := []func(*model.SideBalance) model.Totals{in, carriedIn, matched, different, carriedOut}
	for _, side := range model.Sides {
		for _, part := range parts {
			for _, currency := range []string{"CNY", "USD", "EUR"} {
				for _, amount := range []decimal.Decimal{cent, cent.Neg(), decimal.Zero} {
					b := balanced()
					part(b.Side(side)).Add(currency, 1, amount)
					err := b.Check()
					require.ErrorIs(t, err, model.ErrUnbalanced)
					require.ErrorContains(t, err, string(side)+" "+currency)
				}
				b := balanced()
				part(b.Side(side)).Add(currency, 0, cent)
				require.ErrorIs(t, b.Check(), model.ErrUnbalanced, "money without an entry")
			}
			b := balanced()
			delete(part(b.Side(side)), "CNY")
			require.ErrorIs(t, b.Check(), model.ErrUnbalanced, "a lost currency")
		}
	}
	for _, currency := range []string{"CNY", "USD", "EUR"} {
		b := balanced()
		b.MatchedDelta[currency] = b.MatchedDelta[currency].Add(cent)
		require.ErrorIs(t, b.Check(), model.ErrUnbalanced)
	}
}

func TestBalanceNamesEverySideAndCurrencyWithBothFigures(t *testing.T) {
	t.Parallel()
	b := balanced()
	in(b.Side(model.Ledger)).Add("CNY", 1, decimal.RequireFromString("2"))
	carriedOut(b.Side(model.Channel)).Add("USD", 0, decimal.RequireFromString("3"))
	err := b.Check()
	require.ErrorContains(t, err, "ledger CNY: 13 entries 109.5 in, 12 entries 107.5 accounted for")
	require.ErrorContains(t, err, "channel USD: 12 entries 107.5 in, 12 entries 110.5 accounted for")
}
