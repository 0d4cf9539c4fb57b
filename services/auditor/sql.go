package auditor

// Every statement of the auditor is in this file; tables.go runs them. None is shared with the code that makes the
// results: what is wrong in one must not be wrong in the other as well. Values come in as server parameters. Sums are
// Decimal256, because a sum of Decimal(38, 8) wraps without an error.
const (
	// newestSQL is the newest version of every batch of a job, without the columns that are only needed to judge one.
	newestSQL = `
SELECT biz_date, version, fence, run_id, snapshot_id, committed_at, carry_in, carry_out, open_diffs
FROM batches
WHERE job = {job:String}
ORDER BY biz_date, version DESC, fence DESC, run_id DESC
LIMIT 1 BY biz_date`

	// claimSQL is everything that the commit row of one run claims, in JSON and again in its plain columns.
	claimSQL = `
SELECT seals, balance, diffs, open_diffs, ledger_count, channel_count, ledger_totals, channel_totals, carried_in, carried_out
FROM batches
WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String}
ORDER BY version DESC, fence DESC
LIMIT 1`

	// sourceRows are the entries that a run compared: those of its snapshot and those carried in under its own id.
	sourceRows = `job = {job:String} AND biz_date = {day:Date}
    AND (run_id = {snapshot:String} AND carried = 0 OR run_id = {run:String} AND carried = 1)`

	openKeys    = `SELECT key FROM diffs WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String} AND state = 'open'`
	carriedKeys = `SELECT match_key FROM carried WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String}`

	// placesSQL says where every entry went: its key is in an open diff, in the pool handed on, or in neither.
	placesSQL = `
SELECT side, currency, carried, place, count(), sum(toDecimal256(amount, 8))
FROM
(
    SELECT side, currency, carried, amount,
        multiIf(match_key IN (` + openKeys + `), 'different', match_key IN (` + carriedKeys + `), 'carried', 'matched') AS place
    FROM entries
    WHERE ` + sourceRows + `
)
GROUP BY side, currency, carried, place`

	// diffsSQL adds up the figures that the open diffs themselves show.
	diffsSQL = `
SELECT a.currency, sum(a.ledger_count), sum(a.channel_count), sum(toDecimal256(a.ledger, 8)), sum(toDecimal256(a.channel, 8))
FROM diffs
ARRAY JOIN amounts AS a
WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String} AND state = 'open'
GROUP BY a.currency`

	// readableSQL reads every column of a run's diffs: a part of a file that is damaged is known only when it is read.
	readableSQL = `
SELECT sum(cityHash64(toString(tuple(*))))
FROM diffs
WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String}`

	// kindsSQL counts the open diffs of each kind, those that are there twice, and those whose headline figures do not
	// say what their amounts say. NULL headlines have no single figure to say.
	kindsSQL = `
SELECT kind, count(), toUInt64(count() - uniqExact(diff_id)),
    countIf(ledger_count != arraySum(amounts.ledger_count) OR channel_count != arraySum(amounts.channel_count)
        OR ifNull(ledger_amount != arraySum(arrayMap(x -> toDecimal256(x, 8), amounts.ledger)), false)
        OR ifNull(channel_amount != arraySum(arrayMap(x -> toDecimal256(x, 8), amounts.channel)), false)
        OR ifNull(toDecimal256(delta, 8) != toDecimal256(ledger_amount, 8) - toDecimal256(channel_amount, 8), false))
FROM diffs
WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String} AND state = 'open'
GROUP BY kind`

	// matchedRows are the entries that count as matched.
	matchedRows = sourceRows + ` AND match_key NOT IN (` + openKeys + `) AND match_key NOT IN (` + carriedKeys + `)`

	// withinTolerance takes the accepted difference of a currency out of two arrays of text.
	withinTolerance = `abs(sumIf(toDecimal256(amount, 8), side = 'ledger') - sumIf(toDecimal256(amount, 8), side = 'channel'))
        <= toDecimal256(transform(any(currency), {currencies:Array(String)}, {tolerances:Array(String)}, {tolerance:String}), 18)`

	// wrongPairsSQL counts the matched keys that are no pair by the rules of mode one. The sort order of entries lets the
	// engine do it in one ordered pass.
	wrongPairsSQL = `
SELECT count(), min(match_key)
FROM
(
    SELECT match_key
    FROM entries
    WHERE ` + matchedRows + `
    GROUP BY match_key
    HAVING NOT (countIf(side = 'ledger') = 1 AND countIf(side = 'channel') = 1 AND uniqExact(currency) = 1
        AND ` + withinTolerance + `)
)
SETTINGS optimize_aggregation_in_order = 1`

	// wrongColumnsSQL counts the matched keys whose compared columns differ. It is apart from wrongPairsSQL because both
	// in one took ten times as long as one after the other.
	wrongColumnsSQL = `
SELECT count(), min(match_key)
FROM
(
    SELECT match_key
    FROM entries
    WHERE ` + matchedRows + `
    GROUP BY match_key
    HAVING arrayExists((l, c) -> l != '' AND c != '' AND l != c,
        arrayResize(anyIf(compared, side = 'ledger'), {columns:UInt32}),
        arrayResize(anyIf(compared, side = 'channel'), {columns:UInt32}))
)
SETTINGS optimize_aggregation_in_order = 1`

	// wrongSumsSQL counts the matched keys and currencies that do not agree by the rules of mode sum. Grouping by currency
	// as well is slow, so it is done only for the keys that have several, or do not agree at first sight.
	wrongSumsSQL = `
SELECT count(), min(match_key)
FROM
(
    SELECT match_key
    FROM entries
    WHERE ` + sourceRows + ` AND match_key IN
    (
        SELECT match_key
        FROM entries
        WHERE ` + matchedRows + `
        GROUP BY match_key
        HAVING NOT (countIf(side = 'ledger') > 0 AND countIf(side = 'channel') > 0 AND uniqExact(currency) = 1
            AND ` + withinTolerance + `)
    )
    GROUP BY match_key, currency
    HAVING NOT (countIf(side = 'ledger') > 0 AND countIf(side = 'channel') > 0 AND ` + withinTolerance + `)
)
SETTINGS optimize_aggregation_in_order = 1`

	poolColumns = `side, match_key, entry_id, amount, currency, status, compared, occurred_at, fee, attrs, origin_date`

	// poolOutSQL and poolInSQL are the pool as it was handed on and as it was taken in, in the order of its digest.
	poolOutSQL = `
SELECT ` + poolColumns + `
FROM carried
WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String}
ORDER BY match_key`

	poolInSQL = `
SELECT ` + poolColumns + `
FROM entries
WHERE job = {job:String} AND biz_date = {day:Date} AND run_id = {run:String} AND carried = 1
ORDER BY match_key`

	// reviewsSQL is the newest step of every review of a job.
	reviewsSQL = `
SELECT biz_date, diff_id, step, key, state, by, note, at, fingerprint, seen_version
FROM reviews
WHERE job = {job:String}
ORDER BY biz_date, diff_id, step DESC
LIMIT 1 BY biz_date, diff_id`

	// newestDiffs are the diffs of the newest version of every day of a job.
	newestDiffs = `job = {job:String} AND (biz_date, run_id) IN
    (SELECT biz_date, argMax(run_id, (version, fence, run_id)) FROM batches WHERE job = {job:String} GROUP BY biz_date)`

	// openDiffsSQL counts the open diffs of a job.
	openDiffsSQL = `
SELECT kind, if(length(amounts) = 1, amounts[1].currency, 'mixed') AS in_currency, count()
FROM diffs
WHERE state = 'open' AND ` + newestDiffs + `
GROUP BY kind, in_currency`

	// openAmountsSQL adds up what the sides of the open diffs differ by, each currency on its own.
	openAmountsSQL = `
SELECT kind, a.currency, sum(abs(toDecimal256(a.ledger, 8) - toDecimal256(a.channel, 8)))
FROM diffs
ARRAY JOIN amounts AS a
WHERE state = 'open' AND ` + newestDiffs + `
GROUP BY kind, a.currency`

	// backlogSQL counts, per day, the diffs that a person owes a word: open ones without review, those being looked into,
	// and those whose review was closed before the figures changed.
	backlogSQL = `
SELECT biz_date, waits, count()
FROM
(
    SELECT biz_date, multiIf(
        last.1 = '' AND state = 'open', 'none',
        last.1 = 'investigating', 'investigating',
        last.1 != '' AND (last.2 != fingerprint OR state = 'cleared' AND cleared_version > last.3), 'changed', '') AS waits
    FROM (SELECT biz_date, diff_id, fingerprint, state, cleared_version FROM diffs WHERE ` + newestDiffs + `) AS d
    LEFT JOIN
    (
        SELECT biz_date, diff_id, argMax((state, fingerprint, seen_version), step) AS last
        FROM reviews
        WHERE job = {job:String}
        GROUP BY biz_date, diff_id
    ) AS r USING (biz_date, diff_id)
)
WHERE waits != ''
GROUP BY biz_date, waits
SETTINGS join_use_nulls = 0`
)
