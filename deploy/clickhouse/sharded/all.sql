-- Reading across shards: one database of Distributed tables, for dashboards and people. Nothing writes here. Run it once
-- on any server after `daybreak init` has laid out every shard; point Grafana's data source at the database daybreak_all.
CREATE DATABASE IF NOT EXISTS daybreak_all ON CLUSTER all;

CREATE TABLE IF NOT EXISTS daybreak_all.batches ON CLUSTER all AS daybreak.batches
ENGINE = Distributed(all, daybreak, batches);

CREATE TABLE IF NOT EXISTS daybreak_all.batches_current ON CLUSTER all AS daybreak.batches_current
ENGINE = Distributed(all, daybreak, batches_current);

CREATE TABLE IF NOT EXISTS daybreak_all.diffs_current ON CLUSTER all AS daybreak.diffs_current
ENGINE = Distributed(all, daybreak, diffs_current);

CREATE TABLE IF NOT EXISTS daybreak_all.carried_current ON CLUSTER all AS daybreak.carried_current
ENGINE = Distributed(all, daybreak, carried_current);

CREATE TABLE IF NOT EXISTS daybreak_all.reviews_current ON CLUSTER all AS daybreak.reviews_current
ENGINE = Distributed(all, daybreak, reviews_current);

CREATE TABLE IF NOT EXISTS daybreak_all.audits ON CLUSTER all AS daybreak.audits
ENGINE = Distributed(all, daybreak, audits);
