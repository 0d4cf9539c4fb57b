// Package bill says what a bill of a payment provider is, and what each format of the registry must keep to.
//
// # From bytes to entries
//
// A file is peeled in four layers, each with its own check and its own error; nothing is told from a file name or from
// the position of a column:
//
//  1. container: plain, gzip, zstd or zip, peeled by package source, which hands each document inside on as a [Doc].
//  2. charset: a byte order mark, else strict UTF-8, else the next charset that the format allows, see [Doc.Text].
//  3. records: the syntax of the format: delimited, backticks, fixed widths, typed rows, JSON, XML, SWIFT tags.
//  4. fields: a [Format] finds columns by their names, reads money as exact decimals and hands on a [Row] per line of the
//     bill, in this project's words.
//
// # What a format promises
//
//   - Every line that moves money is a [Row], also fees without a payment, chargebacks, conversions and payouts. What is
//     no movement of money (a life cycle step, a summary) is left out and counted in a [Out.Remark].
//   - Amounts are signed: money to us is positive. [Row].Amount is what the provider says was moved before its fee;
//     [Row].Fee is what it kept, positive when it was taken and negative when it was given back. Amount − Fee is what
//     settles. Fees that are lines of their own have their amount as Amount and no Fee.
//   - A word that is not known (a type, a status that decides a sign, a currency, a column set) is an error, never a guess.
//   - Whatever the bill declares of itself is put beside what its rows give, see [Out.Declare] and [Out.Count]; where they
//     differ the bill is refused. A bill that always declares something and does not is cut, and refused.
//   - A bill whose kind declares nothing must at least end its last line: a file that was cut inside a line never loads.
//   - Where nothing is declared, the provider's own ids tell a line that is there twice, see [Out.Once].
//   - A bill that says of what day it is loads for no other day, see [Days].
//   - Ids are text. One that holds a character which only damage puts there, or that a spreadsheet made a number of, is
//     refused with the whole bill, see [Cells.Ident].
//   - Problems are collected with line and column; the rows of a bill with a problem are never used.
//   - Memory does not grow with the number of rows, unless the format says so and bounds it. Ids are held up to a bound, see [Out.Once].
//
// # What every format has in common
//
// [Row].Key is the merchant's own number of the event: the order number of a payment, the refund number of a refund, else
// the number of the order, else the provider's. [Row].Order is the merchant's order number that the line belongs to, else
// the key: never empty, so that match.key [order, type] or mode sum over [order] always works. [Row].ID is the provider's
// id of this very line as far as there is one. [Row].Type is one of [Types], whatever words the provider has.
//
// # No bill
//
// Providers answer the request for an empty day with an error document in place of the file. [NoBill] knows those; any
// other document that is not a bill is an error.
package bill
