// Package mt940 reads bank statements in SWIFT MT940: text of tags such as :61: for a movement and :62F: for the balance
// after it. MT950, the same without descriptions, is read alike.
//
// # Syntax
//
// A message stands in blocks ({1:…}{2:…}{4: to -}), or bare, or between lines of a bank's own (ABNANL2A, 940, :940:, a SOH
// character); other lines before :20: are refused. The text of :86: and :NS: is free and wrapped anywhere, so a line of it
// may look like a tag or like the end of a message ("12:26:37" wrapped before ":26:"). Inside such text
//
//   - tags that belong before the movements, and tags that nobody knows, are text,
//   - :20: is a tag only when a tag of the beginning of a statement follows it,
//   - a line that begins with - is text until the closing balance is there, but -} always ends the message.
//
// A wrong guess can take no movement away unseen, because every statement must add up.
//
// # Rows
//
// Every :61: is a row: bank_credit for C and RD (a debit reversed), bank_debit for D and RC; the status is that mark. The
// letter after it, if any, must be the third one of the currency. EC and ED (expected) and movements of zero, with which
// banks send messages, are left out and counted. A bank has no fee column: charges are movements of their own.
//
// The key is the first of these that is there: the end-to-end reference of :86: (/EREF/…, ?20EREF+…), the reference that the
// customer's one points to (PREF, KREF+), the customer's reference (NONREF and its like are none, nor is an IBAN that
// stands there), the bank's reference, account/statement/opening date/place in the statement. The order is the key, the id
// is the bank's reference or that last form.
//
// Days of a bank are dates without a clock. They are attributes; the instant is the start of the entry date, else of the
// value date, in the zone of the configuration, and there is none without a zone. The entry date has no year: it is the
// one that puts it nearest to the value date, or to the opening balance where these disagree and only that year comes
// after the opening. February 29 and 30, which banks with months of 30 days write, are the end of February; the digits as
// they stand are kept in raw_dates.
//
// # Controls
//
// Opening balance plus movements is the closing balance, in every statement. The opening balance of a statement is the
// closing one of the statement before it for the same account and currency; an intermediate balance (:62M:) goes on in the
// next page (:60M:), which must be in the same file. Sums that banks add after the closing balance (/SUM/…, D…C…) are checked.
//
// # Cut files
//
// A statement without :62F: is cut, so is a last line without its end unless it is the end of a message, and a file
// whose last message lacks the end that those before it had. A file cut exactly between two statements cannot be told.
//
// Memory holds one movement, and per account the last statement.
package mt940
