package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"daybreak/pkg/source"
	billformats "daybreak/pkg/source/bill/formats"
)

// inspectFlags say how bills are looked at, as typed.
type inspectFlags struct {
	format, as, zone string
	rows             int
}

func (c *cli) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use: "inspect FILE...", Short: "Say what a provider's bill is, and whether it would be read",
		Long: "Read files as bills of payment providers, without a configuration and leaving nothing behind, and say what each is: its\n" +
			"container, charset and format, its rows and their totals, the control totals that it declares beside those that its\n" +
			"rows give, and every problem with line and column. The content alone chooses the format; --format demands one.\n\n" +
			"Exit code 1 when a file would be refused.\n\nFormats: " + strings.Join(billformats.Names(), ", "),
		Example: "  daybreak inspect bills/20261001.csv.gz\n  daybreak inspect --as json *.csv | jq .\n" +
			"  daybreak inspect --format adyen-settlement --zone Europe/Amsterdam settlement_detail_report_batch_380.csv",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.inspect(cmd.Context(), f, args) },
	}
	cmd.Flags().StringVar(&f.format, "format", billformats.Auto, "the format that the files must be of; auto lets their content choose")
	cmd.Flags().StringVar(&f.as, "as", "", "how it is printed: table or json, one object per line (default table on a terminal, else json)")
	cmd.Flags().StringVar(&f.zone, "zone", "", "time zone of instants whose zone the bill does not say, such as Europe/Amsterdam")
	cmd.Flags().IntVar(&f.rows, "rows", 5, "how many first rows are shown")
	words(cmd, "format", billformats.Names()...)
	words(cmd, "as", formatTable, formatJSON)
	return cmd
}

// options checks the flags.
func (f *inspectFlags) options(out io.Writer) (source.InspectOptions, error) {
	opts := source.InspectOptions{Format: f.format, Rows: f.rows}
	if !slices.Contains(billformats.Names(), f.format) {
		hint := ""
		if slices.Contains(formats, f.format) {
			hint = "; how the answer is printed is said with --as"
		}
		return opts, fmt.Errorf("--format %q is no format of a bill: want %s%s", f.format, strings.Join(billformats.Names(), ", "), hint)
	}
	if f.as == "" {
		f.as = formatJSON
		if terminal(out) {
			f.as = formatTable
		}
	}
	if f.as != formatTable && f.as != formatJSON {
		return opts, fmt.Errorf("--as %q: want table or json", f.as)
	}
	if f.rows < 0 || f.rows > 10_000 {
		return opts, fmt.Errorf("--rows %d: want 0 to 10000", f.rows)
	}
	if f.zone == "" {
		return opts, nil
	}
	zone, err := time.LoadLocation(f.zone)
	if err != nil || f.zone == "Local" {
		return opts, fmt.Errorf("--zone %q: want an IANA zone, such as Asia/Shanghai", f.zone)
	}
	opts.Zone = zone
	return opts, nil
}

// inspect looks at every file, also after one that cannot be opened.
func (c *cli) inspect(ctx context.Context, f inspectFlags, files []string) error {
	opts, err := f.options(c.stdout)
	if err != nil {
		return usage(err)
	}
	refused := false
	var unread []error
	for n, file := range files {
		seen, err := source.Inspect(ctx, file, opts)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			unread = append(unread, err)
			continue
		}
		refused = refused || seen.Refused
		if err := printInspection(c.stdout, f.as, n > 0, seen); err != nil {
			return err
		}
	}
	switch {
	case len(unread) > 0:
		return errors.Join(unread...)
	case refused:
		return failed()
	}
	return nil
}

func printInspection(to io.Writer, as string, later bool, seen source.Inspection) error {
	out := bufio.NewWriter(to)
	if as == formatJSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(seen); err != nil {
			return err
		}
		return out.Flush()
	}
	if later {
		fmt.Fprintln(out)
	}
	inspectionTable(out, seen)
	return out.Flush()
}

// inspectionTable prints an inspection for people. Text from the file is made visible, so that it cannot move the cursor.
func inspectionTable(out io.Writer, s source.Inspection) {
	verdict := "would be read"
	switch {
	case s.Refused:
		verdict = "REFUSED"
	case s.NoBill != "":
		verdict = "no bill for the day"
	case s.Rows == 0:
		verdict = "would be read: an empty day"
	}
	fmt.Fprintf(out, "%s: %s\n", visible(s.File), verdict)
	what := cmp.Or(s.Title, "not known as a bill")
	if s.Format != "" {
		what += " (" + s.Format + ")"
	}
	if s.NoBill != "" {
		what += fmt.Sprintf(": %q", s.NoBill)
	}
	fmt.Fprintf(out, "  what      %s\n", what)
	fmt.Fprintf(out, "  file      %s%d bytes, sha256 %s\n", prefixed(s.Container, ", "), s.Bytes, cmp.Or(s.SHA256, "-"))
	for _, d := range s.Documents {
		name := cmp.Or(visible(d.Name), "content")
		note := ""
		switch {
		case d.Left && d.Format == "":
			note = ", left alone: empty"
		case d.Left:
			note = ", left alone: another format"
		}
		fmt.Fprintf(out, "  document  %s: %s, %s, %d rows%s\n", name, cmp.Or(d.Format, "no bill"), cmp.Or(d.Charset, "charset not read"), d.Rows, note)
	}
	if s.From != "" {
		fmt.Fprintf(out, "  instants  %s to %s\n", s.From, s.To)
	}
	printSums(out, s)
	printControls(out, s)
	printFirst(out, s)
	for _, r := range s.Remarks {
		fmt.Fprintf(out, "  remark    %s\n", visible(r))
	}
	for _, p := range s.Problems {
		fmt.Fprintf(out, "  problem   %s\n", visible(problemText(p)))
	}
	if s.More > 0 {
		fmt.Fprintf(out, "  problem   and %d more\n", s.More)
	}
}

func prefixed(s, after string) string {
	if s == "" {
		return ""
	}
	return s + after
}

// problemText is "entry:line:column: what", as far as they are known.
func problemText(p source.InspectedProblem) string {
	place := p.Document
	switch {
	case p.Column > 0:
		place = fmt.Sprintf("%s:%d:%d", place, p.Line, p.Column)
	case p.Line > 0:
		place = fmt.Sprintf("%s:%d", place, p.Line)
	}
	if place = strings.TrimPrefix(place, ":"); place == "" {
		return p.What
	}
	return place + ": " + p.What
}

func printSums(out io.Writer, s source.Inspection) {
	if s.Rows == 0 {
		return
	}
	t := inspectTable("rows", "type", "currency", "amount", "fee")
	slices.SortFunc(s.Sums, func(a, b source.InspectedSum) int {
		return cmp.Or(cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Type, b.Type))
	})
	for _, sum := range s.Sums {
		t.AppendRow(table.Row{sum.Count, sum.Type, sum.Currency, sum.Amount.String(), sum.Fee})
	}
	for _, currency := range slices.Sorted(maps.Keys(s.Totals)) {
		total := s.Totals[currency]
		t.AppendRow(table.Row{total.Count, "all", currency, total.Amount.String(), ""})
	}
	render(out, t)
}

func printControls(out io.Writer, s source.Inspection) {
	t := inspectTable("control total", "declared", "counted", "")
	n := 0
	for _, c := range s.Controls {
		if c.Declared == "" {
			continue // counted only: nothing to hold it against
		}
		n++
		verdict := "agree"
		if !c.Agrees {
			verdict = "DIFFER"
		}
		t.AppendRow(table.Row{visible(c.Name), c.Declared, c.Counted, verdict})
	}
	if n > 0 {
		render(out, t)
	}
}

func printFirst(out io.Writer, s source.Inspection) {
	if len(s.First) == 0 {
		return
	}
	t := inspectTable("line", "type", "key", "amount", "currency", "fee", "status", "occurred_at")
	for _, r := range s.First {
		t.AppendRow(table.Row{r.Line, r.Type, visible(r.Key), r.Amount.String(), r.Currency, r.Fee, visible(r.Status), r.OccurredAt})
	}
	render(out, t)
}

// numbersOf are the headers whose columns are aligned to the right.
var numbersOf = []string{"rows", "line", "amount", "fee", "declared", "counted"}

func inspectTable(header ...string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options = table.Options{SeparateColumns: true, SeparateHeader: true}
	t.SuppressTrailingSpaces()
	row := make(table.Row, len(header))
	var configs []table.ColumnConfig
	for i, name := range header {
		row[i] = name
		if slices.Contains(numbersOf, name) {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.AppendHeader(row)
	t.SetColumnConfigs(configs)
	return t
}

func render(out io.Writer, t table.Writer) {
	for line := range strings.SplitSeq(t.Render(), "\n") {
		fmt.Fprintf(out, "    %s\n", line)
	}
}
