package boards

import (
	"fmt"
	"strings"
)

// pageHead is what is the same whatever the boards hold.
const pageHead = `# Dashboards

Three dashboards for Grafana 9 to 13 lie in [deploy/grafana/dashboards](../deploy/grafana/dashboards). They are generated from
Go (` + "`go run .` in [deploy/grafana/gen](../deploy/grafana/gen)" + `), which also writes this page; change them there.

- **Prometheus** tells how things stand and move. Its figures are floats and of the moment; amounts in it are for the shape
  of a line. **ClickHouse** tells what the books say of a business day: money leaves it as exact text.
- Business days are drawn at midnight UTC of their date, so the dashboards are fixed to UTC.
- The range at the top counts for both: business days for what comes from the books, instants for the rest.
- ` + "`Data source`, `Books`" + ` choose where to read; ` + "`Job` and `Currency`" + ` what. A name of a job in a table leads to its dashboard.
- To provision: mount [provisioning](../deploy/grafana/provisioning) and the dashboards, and set the environment that
  [the data sources](../deploy/grafana/provisioning/datasources/daybreak.yml) name. The compose file does all that. By hand:
  import the JSON and choose the two data sources at the top.
- Prometheus has to scrape with ` + "`honor_labels: true`" + `, see [metrics](metrics.md).
- The user of ClickHouse may read results, not entries: [users](../deploy/clickhouse/users.d/daybreak.xml). ` + "`readonly = 1`" + ` is enough.

The pictures are previews and not Grafana: drawn from what the same queries answered over a made-up book in which a file is
broken, one is late, one vanished after it was reconciled, and somebody has reviewed three diffs. A test runs every query
on the real engines and fails on an error or an empty answer:
` + "`go test ./live` in deploy/grafana/gen" + `. Another asks every query over HTTP of a Prometheus that scraped two tickers, three
recons and two auditors on three NATS servers: ` + "`go test -run Panel .` in deploy/prometheus/fire" + `. The files are held against the types
that Grafana publishes: ` + "`npm install && npm run check` in deploy/grafana/schema" + `.
`

// Page is docs/dashboards.md: every panel, what it shows and when to worry.
func Page() string {
	out := strings.Builder{}
	out.WriteString(pageHead)
	for _, b := range Boards() {
		name := strings.TrimPrefix(b.Title, "Daybreak / ")
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n![%s](dashboards/%s.svg)\n\n| panel | from | what it shows |\n|---|---|---|\n", name, b.Text, name, b.Name)
		for _, p := range b.Panels {
			from := "Prometheus"
			if Of(b.Name + "/" + p.Name)[0].Kind == ClickHouse {
				from = "books"
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", p.Title, from, p.Text)
		}
	}
	return out.String()
}
