package boards

// The parts that several statements share.
const (
	// days bounds a statement to the jobs and the range that are chosen.
	days = `job IN (${job:singlequote}) AND $__dateFilter(biz_date)`

	// lastFindings is the newest state of every finding. The auditor writes an open finding again in every pass, so the
	// newest row of each counts and the others are history.
	lastFindings = `
    SELECT job, biz_date, finding, argMax((detail, since, escalated, resolved, at), at) AS last
    FROM audits
    WHERE (job = '' OR ` + days + `)
    GROUP BY job, biz_date, finding`

	// difference is by how much the two sides of a diff differ in one currency. Decimal256, as sums of Decimal(38, 8) wrap.
	difference = `abs(toDecimal256(a.ledger, 8) - toDecimal256(a.channel, 8))`

	// state is what a day is worth a look for: the worst of what its newest version and its open findings say.
	// 0 clean, 1 open diffs, 2 late, 3 the result is in doubt, 4 failed.
	state = `
SELECT toDateTime(biz_date, 'UTC') AS time, job, max(worth) AS state
FROM
(
    SELECT job, biz_date, toUInt8(open_diffs > 0) AS worth FROM batches_current WHERE ` + days + `
    UNION ALL
    SELECT job, assumeNotNull(biz_date) AS biz_date, toUInt8(multiIf(finding = 'failed', 4, finding IN ('missing', 'waiting', 'blocked', 'stuck'), 2, 3)) AS worth
    FROM (` + lastFindings + `)
    WHERE NOT last.4 AND isNotNull(biz_date)
)
GROUP BY time, job
ORDER BY time, job`

	// findings lists the newest state of every finding of the days chosen, and those about services, open ones first.
	findings = `
SELECT if(job = '', '(services)', toString(job)) AS job, ifNull(toString(biz_date), '') AS day, finding,
    multiIf(last.4, 'resolved', last.3, 'escalated', 'open') AS status, last.2 AS since, last.5 AS seen, last.1 AS detail
FROM (` + lastFindings + `)
ORDER BY status = 'resolved', status = 'open', since DESC
LIMIT 200`

	// openByKind counts the open diffs of the newest versions per day and kind.
	openByKind = `
SELECT toDateTime(biz_date, 'UTC') AS time, kind, count() AS diffs
FROM diffs_current
WHERE state = 'open' AND ` + days + `
GROUP BY time, kind
ORDER BY time, kind`

	// inDoubt adds up, exactly, by how much the sides of the open diffs differ.
	inDoubt = `
SELECT job, currency, diffs, days, oldest,
    exact(ledger_sum) AS ledger, exact(channel_sum) AS channel, exact(differ_sum) AS differ_by
FROM
(
    SELECT job, a.currency AS currency, count() AS diffs, uniqExact(biz_date) AS days, toString(min(biz_date)) AS oldest,
        sum(toDecimal256(a.ledger, 8)) AS ledger_sum, sum(toDecimal256(a.channel, 8)) AS channel_sum, sum(` + difference + `) AS differ_sum
    FROM diffs_current
    ARRAY JOIN amounts AS a
    WHERE state = 'open' AND a.currency IN (${currency:singlequote}) AND ` + days + `
    GROUP BY job, currency
)
ORDER BY job, currency`

	// jobs is one row per job of what is committed.
	jobs = `
SELECT job, toString(min(biz_date)) AS first_day, toString(max(biz_date)) AS last_day, count() AS days,
    countIf(open_diffs > 0) AS days_with_diffs, sum(open_diffs) AS diffs, sum(ledger_count) AS ledger, sum(channel_count) AS channel,
    sum(version - 1) AS recomputed, max(committed_at) AS last_commit
FROM batches_current
WHERE ` + days + `
GROUP BY job
ORDER BY job`

	// daysOfJob is one row per day of what its newest version took in and left open.
	daysOfJob = `
SELECT toString(biz_date) AS day, version, cause, committed_at, ledger_count AS ledger, channel_count AS channel,
    open_diffs, carried_in, carried_out
FROM batches_current
WHERE ` + days + `
ORDER BY day DESC`

	sources = `
SELECT toDateTime(biz_date, 'UTC') AS time, ledger_count AS ledger, channel_count AS channel
FROM batches_current
WHERE ` + days + `
ORDER BY time`

	// results says what became of the entries of both sides, by the balance that the run committed.
	results = `
SELECT toDateTime(biz_date, 'UTC') AS time, place('matched') AS matched, place('different') AS different, place('carried_out') AS handed_on
FROM batches_current
WHERE ` + days + `
ORDER BY time`

	// money is the balance of every day, side and currency, exact and as text. An empty place is nothing.
	money = `
SELECT toString(biz_date) AS day, side, currency, amount('in') AS pulled, amount('carried_in') AS taken_over, amount('matched') AS matched,
    amount('different') AS different, amount('carried_out') AS handed_on,
    if(toDecimal256(pulled, 8) + toDecimal256(taken_over, 8) = toDecimal256(matched, 8) + toDecimal256(different, 8) + toDecimal256(handed_on, 8), 'yes', 'NO') AS balanced
FROM
(
    SELECT biz_date, side, balance, arrayJoin(arrayDistinct(arrayConcat(JSONExtractKeys(balance, side, 'in'), JSONExtractKeys(balance, side, 'carried_in')))) AS currency
    FROM batches_current
    ARRAY JOIN ['ledger', 'channel'] AS side
    WHERE ` + days + `
)
WHERE currency IN (${currency:singlequote})
ORDER BY day DESC, currency, side DESC`

	carried = `
SELECT toDateTime(biz_date, 'UTC') AS time, carried_in AS taken_over, carried_out AS handed_on
FROM batches_current
WHERE ` + days + `
ORDER BY time`

	// pool is who still waits for a counterpart after the newest committed day of the range.
	pool = `
SELECT side, currency, toString(origin_date) AS since_day, count() AS entries, exact(sum(toDecimal256(carried_current.amount, 8))) AS amount
FROM carried_current
WHERE currency IN (${currency:singlequote}) AND ` + days + `
    AND biz_date = (SELECT max(biz_date) FROM batches WHERE ` + days + `)
GROUP BY side, currency, since_day
ORDER BY since_day, side, currency`

	// largest are the open diffs that move the most money. NULL amounts: several currencies, so no single figure.
	largest = `
SELECT toString(biz_date) AS day, kind, key, if(length(amounts) = 1, amounts[1].currency, 'mixed') AS currency, ifNull(exact(ledger_amount), '') AS ledger,
    ifNull(exact(channel_amount), '') AS channel, ifNull(exact(delta), '') AS differ_by, review, diff_id
FROM diffs_current
WHERE state = 'open' AND hasAny(amounts.currency, [${currency:singlequote}]) AND ` + days + `
ORDER BY abs(ifNull(delta, 0)) DESC, day DESC
LIMIT 100`

	// reviews are the diffs that somebody has worked on. Figures that changed after a review was closed need another look.
	reviews = `
SELECT toString(biz_date) AS day, kind, key, ifNull(exact(delta), '') AS differ_by, review,
    if(changed_after_review, 'yes', '') AS changed_since, review_by AS by, review_at AS at, review_note AS note
FROM diffs_current
WHERE review != 'none' AND ` + days + `
ORDER BY at DESC
LIMIT 100`

	// commits counts committed versions by the time of their commit: how fast the pipeline works and why it works again.
	commits = `
SELECT $__timeInterval(committed_at) AS time, cause, count() AS versions
FROM batches
WHERE $__timeFilter(committed_at)
GROUP BY time, cause
ORDER BY time, cause`

	jobVariable      = `label_values(daybreak_job_info, job)`
	currencyVariable = `SELECT DISTINCT arrayJoin(arrayConcat(mapKeys(ledger_totals), mapKeys(channel_totals))) AS currency FROM batches_current WHERE job IN (${job:singlequote}) ORDER BY currency`
)

// Queries are all queries of all panels. Several replicas show the same books, so gauges of the auditor are taken max by
// their labels before anything is added up; counters belong to their process and are added up after rate.
var Queries = []Query{
	prom("overview/standing", `sum by (status) (max by (job, status) (daybreak_batches{job=~"$job",status=~"missing|failed|waiting|blocked|running"}))`, "{{status}}"),
	prom("overview/unbalanced", `sum(max by (job) (daybreak_unbalanced_batches{job=~"$job"}))`, "unbalanced"),
	prom("overview/open_findings", `sum(max by (job, finding) (daybreak_findings{job=~"$job|_"}))`, "open"),
	prom("overview/open_findings", `sum(max by (job, finding) (daybreak_findings_escalated{job=~"$job|_"}))`, "for a person"),
	prom("overview/lag", `max by (job) (daybreak_done_lag_batches{job=~"$job"})`, "{{job}}"),
	prom("overview/deadline", `max by (job) (daybreak_next_deadline_timestamp_seconds{job=~"$job"}) - time()`, "{{job}}"),
	prom("overview/looked", `time() - max by (job) (daybreak_audit_last_success_timestamp_seconds{job=~"$job"})`, "{{job}}"),
	sql("overview/calendar", state, columns(Time, "time"), columns(Text, "job"), columns(Number, "state")),
	sql("overview/kinds", openByKind, columns(Time, "time"), columns(Text, "kind"), columns(Number, "diffs")),
	sql("overview/in_doubt", exacts(inDoubt), columns(Text, "job", "currency"), columns(Number, "diffs", "days"), columns(Text, "oldest"), columns(Money, "ledger", "channel", "differ_by")),
	prom("overview/amounts", `sum by (job, currency) (max by (job, kind, currency) (daybreak_open_diffs_amount{job=~"$job",currency=~"$currency"}))`, "{{job}} {{currency}}"),
	prom("overview/backlog", `sum by (age) (max by (job, state, age) (daybreak_review_backlog{job=~"$job"}))`, "{{age}}").now(),
	sql("overview/jobs", jobs, columns(Text, "job", "first_day", "last_day"),
		columns(Number, "days", "days_with_diffs", "diffs", "ledger", "channel", "recomputed"), columns(Time, "last_commit")),
	sql("overview/findings", findings, columns(Text, "job", "day", "finding", "status"), columns(Time, "since", "seen"), columns(Text, "detail")),

	prom("job/standing", `max by (status) (daybreak_batches{job="$job",status!~"done|due"})`, "{{status}}"),
	prom("job/lag", `max(daybreak_done_lag_batches{job="$job"})`, "days behind"),
	prom("job/clean", `1000 * max(daybreak_last_clean_day_timestamp_seconds{job="$job"} > 0)`, "clean up to"),
	prom("job/deadline", `max(daybreak_next_deadline_timestamp_seconds{job="$job"}) - time()`, "left"),
	prom("job/failures", `max(daybreak_consecutive_failures{job="$job"})`, "in a row"),
	sql("job/calendar", state, columns(Time, "time"), columns(Text, "job"), columns(Number, "state")),
	sql("job/sources", sources, columns(Time, "time"), columns(Number, "ledger", "channel")),
	sql("job/results", places(results), columns(Time, "time"), columns(Number, "matched", "different", "handed_on")),
	sql("job/money", places(money), columns(Text, "day", "side", "currency"),
		columns(Money, "pulled", "taken_over", "matched", "different", "handed_on"), columns(Text, "balanced")),
	sql("job/kinds", openByKind, columns(Time, "time"), columns(Text, "kind"), columns(Number, "diffs")),
	prom("job/amounts", `max by (kind, currency) (daybreak_open_diffs_amount{job="$job",currency=~"$currency"}) > 0`, "{{kind}} {{currency}}").now(),
	prom("job/phases", `histogram_quantile(0.9, sum by (phase, le) (rate(daybreak_phase_duration_seconds_bucket{job="$job"}[$__rate_interval])))`, "{{phase}}"),
	prom("job/runs", `sum by (outcome) (increase(daybreak_runs_total{job="$job"}[$__rate_interval]))`, "{{outcome}}"),
	sql("job/carried", carried, columns(Time, "time"), columns(Number, "taken_over", "handed_on")),
	sql("job/pool", exacts(pool), columns(Text, "side", "currency", "since_day"), columns(Number, "entries"), columns(Money, "amount")),
	prom("job/backlog", `max by (state, age) (daybreak_review_backlog{job="$job"}) > 0`, "{{state}} {{age}}").now(),
	sql("job/largest", exacts(largest), columns(Text, "day", "kind", "key", "currency"), columns(Money, "ledger", "channel", "differ_by"), columns(Text, "review", "diff_id")),
	sql("job/reviews", exacts(reviews), columns(Text, "day", "kind", "key"), columns(Money, "differ_by"), columns(Text, "review", "changed_since", "by"), columns(Time, "at"), columns(Text, "note")),
	sql("job/days", daysOfJob, columns(Text, "day"), columns(Number, "version"), columns(Text, "cause"), columns(Time, "committed_at"),
		columns(Number, "ledger", "channel", "open_diffs", "carried_in", "carried_out")),
	sql("job/findings", findings, columns(Text, "job", "day", "finding", "status"), columns(Time, "since", "seen"), columns(Text, "detail")),

	prom("pipeline/instances", `max by (service) (daybreak_instances)`, "{{service}}"),
	prom("pipeline/heartbeats", `max by (service) (daybreak_heartbeat_age_seconds)`, "{{service}}"),
	prom("pipeline/engines", `min by (type) (daybreak_engine_up)`, "{{type}}"),
	prom("pipeline/dead", `max(daybreak_stream_messages{stream="DEAD"})`, "rejected"),
	prom("pipeline/fences", `sum(increase(daybreak_fence_rejections_total[$__range]))`, "refused writes"),
	prom("pipeline/fences", `sum(increase(daybreak_lease_takeovers_total[$__range]))`, "takeovers"),
	prom("pipeline/targets", `sum by (service) (up{job="daybreak"})`, "{{service}}"),
	prom("pipeline/stream_fill", `max by (stream) (daybreak_stream_bytes) / max by (stream) (daybreak_stream_limit_bytes)`, "{{stream}}").now(),
	prom("pipeline/stream_bytes", `max by (stream) (daybreak_stream_bytes)`, "{{stream}}"),
	prom("pipeline/stream_messages", `max by (stream) (daybreak_stream_messages)`, "{{stream}}"),
	prom("pipeline/space", `min(daybreak_store_disk_free_bytes / daybreak_store_disk_size_bytes)`, "ClickHouse, fullest disk"),
	prom("pipeline/space", `clamp_min(1 - max(daybreak_jetstream_storage_bytes / daybreak_jetstream_storage_limit_bytes), 0)`, "JetStream, quota"),
	prom("pipeline/pending", `max by (stream, consumer) (daybreak_consumer_pending_messages)`, "{{consumer}} of {{stream}}: to come"),
	prom("pipeline/pending", `max by (stream, consumer) (daybreak_consumer_ack_pending_messages)`, "{{consumer}} of {{stream}}: in work or waiting"),
	prom("pipeline/published", `sum by (service) (rate(daybreak_bus_published_total[$__rate_interval]))`, "{{service}}"),
	prom("pipeline/events", `sum by (job) (rate(daybreak_events_published_total[$__rate_interval]))`, "{{job}}"),
	prom("pipeline/settled", `sum by (outcome) (rate(daybreak_settled_messages_total[$__rate_interval]))`, "{{outcome}}"),
	prom("pipeline/settled", `sum(rate(daybreak_redeliveries_total[$__rate_interval]))`, "delivered again"),
	prom("pipeline/leases", `sum(increase(daybreak_leases_taken_total[$__rate_interval]))`, "taken"),
	prom("pipeline/leases", `sum(increase(daybreak_lease_takeovers_total[$__rate_interval]))`, "taken over"),
	prom("pipeline/leases", `sum(increase(daybreak_leases_lost_total[$__rate_interval]))`, "lost"),
	prom("pipeline/leases", `sum(increase(daybreak_fence_rejections_total[$__rate_interval]))`, "writes refused"),
	prom("pipeline/trouble", `sum(increase(daybreak_bus_retries_total[$__rate_interval]))`, "requests repeated"),
	prom("pipeline/trouble", `sum(increase(daybreak_handler_panics_total[$__rate_interval]))`, "panics"),
	prom("pipeline/trouble", `sum(increase(daybreak_ticker_failures_total[$__rate_interval]))`, "scans failed"),
	prom("pipeline/trouble", `sum(increase(daybreak_audit_passes_total{outcome="failed"}[$__rate_interval]))`, "audits failed"),
	prom("pipeline/response", `max by (type) (daybreak_engine_response_seconds)`, "{{type}}"),
	prom("pipeline/nudges", `sum by (finding) (increase(daybreak_audit_nudges_total[$__rate_interval]))`, "{{finding}}"),
	prom("pipeline/memory", `max by (service) (process_resident_memory_bytes{service!=""})`, "{{service}}"),
	prom("pipeline/cpu", `sum by (service) (rate(process_cpu_seconds_total{service!=""}[$__rate_interval]))`, "{{service}}"),
	sql("pipeline/commits", commits, columns(Time, "time"), columns(Text, "cause"), columns(Number, "versions")),
	prom("pipeline/builds", `count by (service, version, goversion) (daybreak_build_info)`, "{{service}} {{version}}").now(),
}
