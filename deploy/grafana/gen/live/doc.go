// Package live runs every query of the dashboards against the real thing.
//
// Its test builds Daybreak, writes a book of a week, starts engines, ticker, recon and auditor as processes of their own,
// scrapes them as prometheus.yml tells Prometheus to, and harms the book as life does: a broken file, a file that is late,
// a file that vanished after it was reconciled, a message that nobody understands, a review. Then every PromQL is run by
// Prometheus' own engine over what was scraped and every statement by ClickHouse over what was reconciled, as the
// dashboards' reader: readonly = 1. A query that fails or answers nothing fails the test.
package live
