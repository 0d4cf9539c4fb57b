// Package alipay reads the bills that Alipay makes for merchants (bill types trade and signcustomer).
//
// # What the files are
//
// Both come as a zip of two texts in GB18030 (GBK), or re-saved as UTF-8: a list of rows, and a summary of it. A text is a
// preamble of comment lines (#支付宝业务明细查询, account, period, start of the list), a header, rows, an end marker, lines
// with the totals of the rows, and the time of the export. Nothing is at a fixed line: the header is the first line that
// holds names of columns, or the one after the start of the list. Values end in a tab. Alipay quotes nothing; spreadsheets
// do, pad comments with commas and put an empty column first, all of which is read. A comma inside a text that nobody
// quoted gives the row a field too many, which is a problem with the row as it stands and never a guess.
//
//   - alipay-trade (业务明细): a row per payment (交易) and per refund (退款). Refunds carry the trade number and the order of
//     their payment and a request number of their own, which is their key. Amounts are signed as printed, so a refund above
//     zero or a payment below is a problem. The service fee is printed negative where it was taken and becomes Fee with the
//     sign turned.
//   - alipay-signcustomer (账务明细): a row per movement of the account. One of two columns holds the amount, and which one
//     says the direction; 业务类型 together with the direction says the type. Fees are rows of their own. Where the column
//     业务类型 is left out, nothing in the file tells a payment from a transfer, so rows are bank_credit and bank_debit.
//   - alipay-trade-summary and alipay-signcustomer-summary (汇总): no rows; their total row is held against the rows of the
//     list in the same zip, and their own rows against the total row.
//
// # What is checked
//
// The end marker and both total lines must be there, else the bill is cut; counts and sums must be those of the rows.
// Times must lie inside the period, whose end does not belong to it, and so must the business day that is asked for. All
// are Beijing time, whatever zone a job has.
//
// The running balance of the account list is followed from row to row and a break is told as a remark, not as a problem:
// Alipay says of that figure that it is for reference and need not be continuous, and lists that leave out rows, such as
// fees, jump at each of them although the rows and totals they have are right.
//
// Wherever the rows of a list are complete but what follows is cut, behind the last total line, the bill loads: nothing
// is missing from it.
package alipay
