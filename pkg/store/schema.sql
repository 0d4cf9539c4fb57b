-- The tables and views of the result store, one statement per block, applied in this order and harmless when repeated.
-- The actions are filled in by schema.go: nothing and a plain engine on one server, ON CLUSTER and the Replicated
-- engine on a cluster. The package comment says what the columns mean together.

-- table schema_version
-- Which layout the tables have. A program older than the layout refuses to touch it.
CREATE TABLE IF NOT EXISTS schema_version{{cluster}}
(
    version    UInt32,
    applied_at DateTime64(3, 'UTC')
)
ENGINE = {{engine "ReplacingMergeTree" "schema_version"}}
ORDER BY version;

-- table entries
-- Every line of both sides. carried = 0: pulled by the run; carried = 1: copied in from the pool of the day before.
-- Both sides share one table and one order, so that a GROUP BY match_key reads each key's entries together.
CREATE TABLE IF NOT EXISTS entries{{cluster}}
(
    job         LowCardinality(String),
    biz_date    Date,
    run_id      LowCardinality(String),
    side        LowCardinality(String),
    carried     UInt8,
    match_key   String,
    entry_id    String,
    amount      Decimal(38, 8),
    currency    LowCardinality(String),
    status      LowCardinality(String),
    compared    Array(String),
    occurred_at Nullable(DateTime64(9, 'UTC')),
    fee         Nullable(Decimal(38, 8)),
    attrs       Map(LowCardinality(String), String),
    origin_date Date,
    file        LowCardinality(String),
    line        UInt64
)
ENGINE = {{engine "MergeTree" "entries"}}
PARTITION BY toYYYYMM(biz_date)
ORDER BY (job, biz_date, match_key, side)
SETTINGS {{window}};

-- table diffs
-- What a run found not to settle. fingerprint hashes the figures; cleared_version is the version that first no longer
-- found the diff, 0 while it is open. Reviews are not here: they outlive every run.
CREATE TABLE IF NOT EXISTS diffs{{cluster}}
(
    batch_id        String,
    biz_date        Date,
    diff_id         String,
    kind            LowCardinality(String),
    state           LowCardinality(String),
    key             String,
    currency        LowCardinality(String),
    ledger_count    UInt64,
    channel_count   UInt64,
    ledger_amount   Nullable(Decimal(38, 8)),
    channel_amount  Nullable(Decimal(38, 8)),
    delta           Nullable(Decimal(38, 8)),
    ledger_status   String,
    channel_status  String,
    version         UInt64,
    origin_date     Date,
    reasons         Array(LowCardinality(String)),
    detail          String,
    ledger_ref      String,
    channel_ref     String,
    amounts         Array(Tuple(currency String, ledger_count UInt64, channel_count UInt64, ledger Decimal(38, 8), channel Decimal(38, 8))),
    fingerprint     String,
    cleared_version UInt64,
    job             LowCardinality(String),
    run_id          LowCardinality(String)
)
ENGINE = {{engine "MergeTree" "diffs"}}
PARTITION BY toYYYYMM(biz_date)
ORDER BY (job, biz_date, run_id, diff_id)
SETTINGS {{window}};

-- table carried
-- The pool a run hands on to the next business day: entries that still wait for their counterpart.
CREATE TABLE IF NOT EXISTS carried{{cluster}}
(
    job         LowCardinality(String),
    biz_date    Date,
    run_id      LowCardinality(String),
    side        LowCardinality(String),
    match_key   String,
    entry_id    String,
    amount      Decimal(38, 8),
    currency    LowCardinality(String),
    status      LowCardinality(String),
    compared    Array(String),
    occurred_at Nullable(DateTime64(9, 'UTC')),
    fee         Nullable(Decimal(38, 8)),
    attrs       Map(LowCardinality(String), String),
    origin_date Date,
    file        LowCardinality(String),
    line        UInt64,
    version     UInt64
)
ENGINE = {{engine "MergeTree" "carried"}}
PARTITION BY toYYYYMM(biz_date)
ORDER BY (job, biz_date, run_id, match_key, side)
SETTINGS {{window}};

-- table batches
-- One row per committed run: its insert is the commit. Rows are never changed.
CREATE TABLE IF NOT EXISTS batches{{cluster}}
(
    batch_id       String,
    job            LowCardinality(String),
    biz_date       Date,
    version        UInt64,
    fence          UInt64,
    run_id         String,
    snapshot_id    String,
    previous       String,
    cause          LowCardinality(String),
    committed_at   DateTime64(9, 'UTC'),
    seals          String,
    balance        String,
    reading        String,
    carry_in       String,
    carry_out      String,
    diffs          Map(LowCardinality(String), UInt64),
    open_diffs     UInt64,
    ledger_count   UInt64,
    channel_count  UInt64,
    ledger_totals  Map(LowCardinality(String), Decimal(76, 8)),
    channel_totals Map(LowCardinality(String), Decimal(76, 8)),
    carried_in     UInt64,
    carried_out    UInt64
)
ENGINE = {{engine "MergeTree" "batches"}}
PARTITION BY toYYYYMM(biz_date)
ORDER BY (job, biz_date, version, fence)
SETTINGS {{window}};

-- table reviews
-- Every step of every review, bound to the diff and to no version.
CREATE TABLE IF NOT EXISTS reviews{{cluster}}
(
    job          LowCardinality(String),
    biz_date     Date,
    diff_id      String,
    step         UInt64,
    key          String,
    state        LowCardinality(String),
    by           String,
    note         String,
    at           DateTime64(9, 'UTC'),
    fingerprint  String,
    seen_version UInt64
)
ENGINE = {{engine "ReplacingMergeTree" "reviews"}}
PARTITION BY toYYYYMM(biz_date)
ORDER BY (job, biz_date, diff_id, step)
SETTINGS {{window}};

-- table audits
-- What an auditor saw in each pass. job and biz_date are empty and NULL for findings about services.
CREATE TABLE IF NOT EXISTS audits{{cluster}}
(
    at        DateTime64(9, 'UTC'),
    instance  String,
    job       LowCardinality(String),
    biz_date  Nullable(Date),
    finding   LowCardinality(String),
    seen      String,
    detail    String,
    since     Nullable(DateTime64(9, 'UTC')),
    nudged    Bool,
    escalated Bool,
    resolved  Bool
)
ENGINE = {{engine "MergeTree" "audits"}}
PARTITION BY toYYYYMM(at)
ORDER BY (job, at, finding)
SETTINGS {{window}};

-- view entries_rows
-- The three *_rows views put one step between a *_current view and its table, see "Reading while a run commits" in the
-- package comment.
CREATE VIEW IF NOT EXISTS entries_rows{{cluster}} AS SELECT * FROM entries;

-- view diffs_rows
CREATE VIEW IF NOT EXISTS diffs_rows{{cluster}} AS SELECT * FROM diffs;

-- view carried_rows
CREATE VIEW IF NOT EXISTS carried_rows{{cluster}} AS SELECT * FROM carried;

-- view batches_current
-- The newest version of every batch: highest version, then highest fence, then (never needed) run.
CREATE VIEW IF NOT EXISTS batches_current{{cluster}} AS
SELECT *
FROM batches
ORDER BY job, biz_date, version DESC, fence DESC, run_id DESC
LIMIT 1 BY job, biz_date;

-- view reviews_current
-- The newest step of every review.
CREATE VIEW IF NOT EXISTS reviews_current{{cluster}} AS
SELECT *
FROM reviews
ORDER BY job, biz_date, diff_id, step DESC
LIMIT 1 BY job, biz_date, diff_id;

-- view diffs_current
-- The diffs of the newest version of every batch: the open ones, and the cleared ones that somebody has reviewed.
CREATE VIEW IF NOT EXISTS diffs_current{{cluster}} AS
SELECT
    d.batch_id AS batch_id,
    d.biz_date AS biz_date,
    d.diff_id AS diff_id,
    d.kind AS kind,
    d.state AS state,
    d.key AS key,
    d.currency AS currency,
    d.ledger_count AS ledger_count,
    d.channel_count AS channel_count,
    d.ledger_amount AS ledger_amount,
    d.channel_amount AS channel_amount,
    d.delta AS delta,
    d.ledger_status AS ledger_status,
    d.channel_status AS channel_status,
    if(r.state = '', 'none', r.state) AS review,
    d.version AS version,
    d.origin_date AS origin_date,
    d.reasons AS reasons,
    d.detail AS detail,
    d.ledger_ref AS ledger_ref,
    d.channel_ref AS channel_ref,
    d.amounts AS amounts,
    d.fingerprint AS fingerprint,
    d.cleared_version AS cleared_version,
    d.job AS job,
    d.run_id AS run_id,
    r.step > 0 AND (r.fingerprint != d.fingerprint OR (d.state = 'cleared' AND d.cleared_version > r.seen_version)) AS changed_after_review,
    r.by AS review_by,
    r.at AS review_at,
    r.note AS review_note,
    r.step AS review_step
FROM diffs_rows AS d
LEFT JOIN reviews_current AS r ON d.job = r.job AND d.biz_date = r.biz_date AND d.diff_id = r.diff_id
WHERE (d.job, d.biz_date, d.run_id) IN (
    SELECT job, biz_date, argMax(run_id, (version, fence, run_id)) FROM batches GROUP BY job, biz_date
)
AND (d.state = 'open' OR review != 'none')
SETTINGS join_use_nulls = 0;

-- view carried_current
-- The pool that the newest version of every batch hands on.
CREATE VIEW IF NOT EXISTS carried_current{{cluster}} AS
SELECT *
FROM carried_rows
WHERE (job, biz_date, run_id) IN (
    SELECT job, biz_date, argMax(run_id, (version, fence, run_id)) FROM batches GROUP BY job, biz_date
);

-- view entries_current
-- The entries that the newest version of every batch compared: its snapshot and what was carried in.
CREATE VIEW IF NOT EXISTS entries_current{{cluster}} AS
SELECT *
FROM entries_rows
WHERE (job, biz_date, run_id, carried) IN (
    SELECT job, biz_date, source.1, toUInt8(source.2)
    FROM (
        SELECT job, biz_date, argMax((snapshot_id, run_id), (version, fence, run_id)) AS newest
        FROM batches
        GROUP BY job, biz_date
    )
    ARRAY JOIN [(newest.1, 0), (newest.2, 1)] AS source
);
