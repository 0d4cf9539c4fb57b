// Package paypal reads the reports that PayPal puts on its SFTP server: the settlement report (STL) and the transaction detail
// report (TRR).
//
// Both are text of typed records, comma or TAB between the fields: RH (report), FH (file), then for every account a section of
// SH (period), CH (names of columns), SB (a transaction each), SF (totals per currency) and SC (count), then RF (totals per
// currency), RC (count) and FF (count). Columns are found by the names in CH. The two reports differ in their
// columns alone: TRR has a status per transaction and what was bought, and so a file is told by them and not by its name.
//
// Amounts are unsigned integers with two implied decimals, for yen as for dollars; CR and DR beside them say the direction. The
// gross is Amount; the fee is Fee, positive when it was taken (DR), where its currency is the one of the gross, else it
// is in the attributes fee_amount and fee_currency. A change of currency is two rows.
//
// The event code says what happened, by a table of the codes that PayPal publishes; another code is refused. Codes that
// move no money (T13 authorisations, in TRR only; T98) are left out with a remark; T9900 says nothing, and is an adjustment in
// STL, whose rows all moved money, and refused in TRR, where it may be a void. Of the statuses of TRR, S (done), V (done and
// later reversed in full) and F (done and later refunded in part) moved money, P (pending) and D (denied) did not and are left
// out; the reversal or refund is a row of its own.
//
// Key: the invoice id, which is the merchant's order number, of payments and of all that follows from them: PayPal carries no
// number of the merchant for a refund. The transaction id is the row's id and an attribute, to match refunds by. Rows
// without an invoice id have the transaction id as key. Batch is the first day of the section's period and the currency.
//
// Controls: every SF and RF against the credits, debits, fee credits, fee debits and number of rows in its currency, SC, RC
// and FF against the numbers of records. A report without SC, RC or FF is cut, as is a settlement report whose rows are in a
// currency without footer, unless all of that currency was converted away, for which PayPal prints none. The balances in
// footers are not checked. Transactions complete within the period of their section, give or take a day.
//
// PayPal splits a report of more than a million records over several files; such files are refused, because the totals in
// the last one run over all of them.
package paypal
