// Package model holds the business words of reconciliation: job, business day, money, entry, diff, batch, watermark,
// review and event. It is pure: it imports neither clock nor I/O, so every decision that can cost money or lose a day
// is a function over values that a test can call.
//
// # One day in values
//
// A [Job] names two sets of books. For one business [Day] each side is pulled into a sealed set of [Entry] values whose
// [Seal] counts and totals them. Entries of both sides are grouped by match key and [Rules.Judge] decides what a group
// is: matched, carried on to the next business day, or a [Diff]. [Balance] then proves that nothing was lost on the way:
// what came in equals what matched plus what differs plus what is carried out, per side and currency, in count and in
// amount. The outcome of an attempt is a [Batch]; where the day stands is its [Watermark].
//
// # Money and identity
//
// Amounts are [github.com/shopspring/decimal.Decimal] with at most 18 integer and 8 fractional digits, read by
// [ParseAmount] and never through a float. Ids and keys are text. A [Day] is a calendar date without zone or clock.
package model
