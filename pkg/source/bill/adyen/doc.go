// Package adyen reads the settlement details report and the payments accounting report of Adyen.
//
// # Settlement details report
//
// One file per settlement batch (or several batches in one file): UTF-8 delimited text with a header line, columns in any
// order. Adyen lets its customers add columns, so further columns are allowed, told in a remark and not read; only one that
// holds further money, with (GC) or (NC) in its name, is refused, because it could be part of what settles.
//
// Debit and credit are separate columns that hold positive numbers: credit − debit is the signed amount, for the gross as
// well as for the net. A payment whose fees exceed it settles as a net debit.
//
//   - Rows with a gross amount: Amount is gross, in the gross currency. Commission, markup, scheme fees and interchange are in the
//     net currency; their sum is Fee where both currencies are the same, else it is in the attribute fees_net alone.
//   - Rows without one (fees, payouts, transfers, corrections): Amount is the net, in the net currency, and there is no Fee.
//
// gross × rate − fees = net is checked: exactly in one currency; with a conversion up to the rounding that the file
// itself shows, half a minor unit of the net currency plus gross × half a unit of the last printed digit of the rate.
// Amounts that settle elsewhere (…Externally) may lack a net, or have the fees alone as net.
//
// Key: the merchant reference of a payment; the modification merchant reference of anything later, when the merchant gave one
// (not empty, not <auto>), else the merchant reference; for rows of the account the modification reference, which is Adyen's.
//
// Control: every batch nets to zero per net currency, the payout or the transfer of the rest among its rows. That is how a
// cut file shows; a report without rows is an empty one, and a file cut at a point where a batch is at zero cannot be told.
//
// # Payments accounting report
//
// One row per step in the life of a payment. Rows that move money into or out of what Adyen owes the merchant are handed
// on; the other steps are counted in a remark, and refused if one of them does move such money after all. The captured amount
// turned around is Amount, in the payment currency; where a row has none it is payable plus fees, in the settlement
// currency. −captured × rate − fees = payable is checked as above. The report declares no totals, so that its last line
// must at least be ended. Settlement Currency may be there twice when both say the same in every row.
//
// # Times
//
// Times are wall clocks with the abbreviation of a zone, which Adyen prints without regard to summer time (PST in August). So the
// abbreviation names a place by a table made by hand, and the place says the offset; an abbreviation that several places
// share is refused, unless the configuration names the zone. Of the hour that a clock shows twice, the first is taken.
package adyen
