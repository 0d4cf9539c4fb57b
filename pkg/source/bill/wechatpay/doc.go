// Package wechatpay reads the merchant bills of WeChat Pay: the trade bill and the fund flow bill, as the interfaces of
// version 2 and version 3 deliver them.
//
// # The dialect
//
// A bill is UTF-8 text, with or without a byte order mark, with LF or CR LF; the merchant platform also makes GB18030. It
// has a header line, rows, a second header line that begins with the name of a count (总交易单数, 资金流水总笔数) and one row
// of totals. Nothing is quoted. Every value begins with a backtick, so that a row is split on comma and backtick, never on
// the comma alone, and names of goods may hold commas and quotes. A value that holds comma and backtick itself makes a row
// too long; see [trade.anchor] for the one case in which such a row still has only one reading. Header cells may carry
// backticks after a re-export. Columns are found by their names: which there are depends on the kind of bill, its year and
// the merchant's products, and a set with an unknown name is refused.
//
// # The trade bill
//
// One line per payment and per refund. What a line is, its 交易状态 says: SUCCESS is a payment, REFUND a refund, REVOKED a
// payment that was undone; any other word is a problem. Amounts stand positive; only the fee has a sign of its own and up
// to five decimals. The amount of a payment is what was ordered (订单金额, in the old generation 总金额), of a refund what
// was asked back (申请退款金额, else 退款金额). A refund that failed moved no money and is left out.
//
// # The fund flow bill
//
// One line per change of the account at WeChat Pay, fees as lines of their own, with the balance after it. The sign comes
// from 收支类型, the type from 业务类型 together with it.
//
// # Control totals
//
// Every figure of the totals is declared, and counted as the plain sum of its column over all lines. A bill without its
// totals is cut. The lines of a fund flow bill must also form one chain of balances, see [chain].
package wechatpay
