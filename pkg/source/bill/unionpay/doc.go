// Package unionpay reads the settlement files that China UnionPay makes for merchants: ZM with the transactions of a
// settlement day and ZME with its disputes and corrections.
//
// # The files
//
// A file is lines of a fixed number of bytes, 607 in ZM and 339 in ZME, with CR LF or LF after each of them, the last one
// too. A line is a row of fields of fixed widths with one blank between them. Text is GBK, whose characters of two bytes
// count as two, so that lines are cut as bytes and every field is decoded after; a line in which a blank is not where one
// must be is refused, as is one of another length. There are no totals: a file that was cut between two lines cannot be
// told from a whole one, which the pages of the formats say.
//
// # What a line means
//
// UnionPay does not publish the layout. Widths and names of fields are those of its own sample program and of merchants'
// programs. Because the meaning rests on that, a line is read only when two fields that do not depend on each other agree:
// in ZM the type of the transaction (交易类型) and the letter of the settlement amount, C for money to the merchant and D
// for money from it. Amounts must fit each other too: the settlement amount is the amount of the transaction, with or
// without the fee. A line that fits neither way is a problem that names the figures.
//
// Amounts are fen of renminbi, which no field says. A fee with D was taken, one with C was given back.
//
// # Years
//
// Times are MMDDhhmmss in Beijing. The year is that which brings the time nearest to the business day asked for; a time
// more than [daysApartMax] days away from it is a problem. When no day is asked for, the year is that of the query number
// (查询流水号), which begins with the day in full; a line with neither has no time, and a remark says so.
package unionpay
