// Package mercadopago reads the settlement report of Mercado Pago, the report of all that moved money in an account.
//
// UTF-8 text with a header line, mostly with semicolons between the fields. The account chooses the columns (26, 38 and 60 of
// them were seen) and their order. What is needed is SOURCE_ID, TRANSACTION_TYPE, TRANSACTION_AMOUNT, SETTLEMENT_NET_AMOUNT and one
// of TRANSACTION_CURRENCY and SETTLEMENT_CURRENCY; any other column may be there once, and those that are not read cannot do
// harm: a PACK_ID that a spreadsheet rounded is not handed on, so the file loads; a rounded SOURCE_ID refuses it.
//
// TRANSACTION_AMOUNT is Amount, before fees and taxes; Fee is all that was kept of it, TRANSACTION_AMOUNT −
// SETTLEMENT_NET_AMOUNT, so that Amount − Fee is what the balance changed by. Taxes that were withheld are part of it and
// stand in the attribute taxes. Where the two currencies differ there is no Fee. TRANSACTION_AMOUNT + FEE_AMOUNT + TAXES_AMOUNT =
// SETTLEMENT_NET_AMOUNT is checked per row, with MKP_FEE_AMOUNT or without it: FEE_AMOUNT holds it already in some files and not in
// others, and one of both must fit.
//
// Numbers have a decimal point in some accounts and a comma in others. One file has one of them: the first number that can be
// read in one way alone decides (34,90 or 0.00), ahead of the rows as far as the beginning of the file reaches. A number
// that could be either (7.000) before that is refused, never guessed; one that contradicts the decision is, too.
//
// Key and order are EXTERNAL_REFERENCE, the merchant's number, of payments and of all that follows from them: there is no
// number of the merchant for a refund. Rows without one have SOURCE_ID, the number of the operation, as key. Times have
// their offset. There is no batch, and nothing that the file declares of itself, so that the last line must at least be ended.
package mercadopago
