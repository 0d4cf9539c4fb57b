// Package boards holds Daybreak's Grafana dashboards as data and turns them into the classic JSON that Grafana provisions.
//
// There is one text of every query, in queries.go. The dashboards, the test that runs every query against real engines
// and the pictures of the documentation all take it from there, so that none of them can show what another does not.
//
// Two kinds of source answer. Prometheus tells how things stand and move: its figures are floats and of the moment.
// ClickHouse tells what the books say of a business day: money stays Decimal in it and leaves as text, except where a
// plot needs a number, and the query says so. A panel never mixes the two.
//
// Business days are drawn at midnight UTC of their date, whatever the zone of the job, which is why the dashboards are
// fixed to UTC: in another zone a day would be drawn on the day before.
package boards
