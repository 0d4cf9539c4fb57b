// Package stripe reads what Stripe says of an account's balance: reports as CSV (stripe-report) and the list of balance
// transactions of its API as JSON (stripe-balance-transactions).
//
// # One line
//
// Both say one thing per line: gross money was moved, Stripe took a fee, net is what the balance changed by. Gross − fee =
// net is checked on each line. Amounts are signed. What happened is told by the reporting category, a word of a table here;
// an unknown one is refused, and so is a line whose sign contradicts its category, such as a refund that brings money.
//
// A refund is a line of its own with a negative amount, and so is a dispute; a dispute that was won comes back as another
// line. Fees that belong to no payment (monthly fees, network costs, tax on fees) are lines too: their amount is the net,
// and they have no fee beside it. Payouts, holds, transfers to connected accounts and loans are lines of other types, so
// the sum of all lines is the change of the balance.
//
// # Numbers
//
// Stripe has no field for the merchant's order number; merchants keep it in metadata. A report has a column per name that
// the caller asked for, payment_metadata[order_no]; the list has it where the source was expanded. The order number is the
// value under a name that means one, see [bill.NamesOrder], or under the only such column. Two different values are
// refused. Without a value the order is the payment intent, then the charge, the source, the balance transaction: what an
// order table that keeps Stripe's ids holds.
//
// Reports are in major units, the list is in minor units by Stripe's own exponents: yen have none, the Icelandic króna has
// two although ISO says none, the Kuwaiti dinar has three.
//
// # Time
//
// created_utc is an instant. created is a wall clock in the zone that the report was run with, which the file does not
// say: it is read in the configured zone, else in UTC, which is Stripe's default, and a remark says so.
//
// # Wholeness
//
// Neither kind declares totals. A report must end its last line and each line must have as many fields as the header; the
// list is whole when its JSON is, has_more must be false. Net per currency is counted for comparison by people.
package stripe
