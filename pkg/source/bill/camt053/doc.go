// Package camt053 reads bank statements in ISO 20022 camt.053, every version from .02 on, alone or inside an envelope.
//
// # Rows
//
// A booked entry (Ntry with status BOOK) is a row, bank_credit or bank_debit by its own CdtDbtInd; the amount has no sign of
// its own. RvslInd tells that the entry undoes another and turns nothing round. Entries that are pending, for information or
// of amount zero are left out and counted in a remark.
//
// A batch is one entry with the transactions in it (TxDtls). The entry is what was booked. It becomes a row per transaction
// when every transaction has an amount in the currency of the entry (Amt, else AmtDtls/TxAmt), there are as many as the bank
// says (NbOfTxs), and they sum to the entry exactly, or do so together with the charges, which become a fee row. In every
// other case it is one row, so that no money is there twice or not at all.
//
// The key of a transaction is its EndToEndId (NOTPROVIDED and its like are none), else its only creditor reference, else
// its PmtInfId, else the bank's reference (AcctSvcrRef) of the transaction or the entry, else account/statement/place of the
// entry. One row for several transactions has the PmtInfId of the batch or those references of the entry. The order is the
// key. The id is the bank's reference of the entry, else account/statement/place, with the place of the transaction behind it
// when there are several rows of one entry.
//
// The instant is BookgDt/DtTm when it has an offset. A date, or a clock without offset, is an instant in the zone of the
// configuration only; dates are attributes in any case.
//
// # Controls
//
// In every statement and currency the opening balance (OPBD, else PRCD) plus what was booked is the closing balance (CLBD).
// Counts and sums of TxsSummry must agree; whether they cover entries that are not booked is the bank's habit, so either does.
// A statement that goes on in further pages needs its last page in the same file. A document that ends before its last tag
// is cut.
//
// # Bounds
//
// The document is read token by token. An element that is taken as a whole holds at most 1 MiB, an entry at most 50,000
// transactions, which are kept until their sum is known. A DOCTYPE is refused, no entity but the five of XML is known. The
// declared charset is a hint: the bytes decide, see bill.Doc.Text.
package camt053
