// Package consumer knows files that are given in place of bills, so that the refusal can say what they are and what to do:
// what wallets and shops export for a person's own book-keeping, lists of Chinese banks, pages and error documents that a
// failed download left, workbooks, documents, and statement formats that nothing here reads.
//
// None of them becomes a bill. Exports for persons mix refunds into amounts, round, leave out and translate as the app of
// the day does, and declare no totals that hold; what they hold can still be described with csv: and its columns.
//
// Everything goes by content. The list runs from the special to the general, and the registry asks it last: the more
// general ones would fit a bill, were it not known before. Even so no entry fits a bill of a format, as far as tests reach.
package consumer
