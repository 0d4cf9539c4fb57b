package source

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"daybreak/pkg/model"
	"daybreak/pkg/source/text"
)

// Kind says how a source is read.
type Kind string

// The kinds of source.
const (
	KindCSV     Kind = "csv"
	KindParquet Kind = "parquet"
	KindQuery   Kind = "query"
)

// Spec describes one source. Exactly the part that Kind names is set.
type Spec struct {
	Kind    Kind
	CSV     *CSV
	Parquet *Parquet
	XLSX    *XLSX
	Query   *Query
	Bill    *Bill
	Columns Columns // not of a bill: its format says what means what
	// TimeFormat says how occurred_at is written: "" for the ISO forms, "unix" and "unix_ms" for epoch counts, else a
	// Go layout such as "02.01.2006 15:04".
	TimeFormat string
	Zone       *time.Location // of instants without offset; nil means the job's
}

// CSV describes delimited text files.
type CSV struct {
	// Path may hold * ? [] and {date} or {date:20060102}; a relative one starts at [Env].Root.
	Path      string
	Entry     string // pattern that chooses the entry of a zip that holds several; "" wants exactly one
	Encoding  string // one of [text.Encodings]; "" is "auto"
	Delimiter rune   // 0 is ','
	Quote     rune   // 0 is '"'; [NoQuote] switches quoting off
	Comment   string // lines that begin with it are skipped; "" skips none
	Skip      int    // physical lines before the header
}

// NoQuote is the value of [CSV].Quote for files that do not quote: every quote character is data.
const NoQuote = text.NoQuote

// Parquet describes parquet files; Path is that of [CSV].
type Parquet struct {
	Path string
}

// Query is one SELECT, run with the server parameters {date:Date}, {from:DateTime64(3)} and {to:DateTime64(3)}.
type Query struct {
	SQL string
}

// Columns say which column of the input means what. Amount and Currency are required, and every column that the match
// key names; the zero [Column] is an absent one.
type Columns struct {
	Key, Amount, Currency, Status, OccurredAt, Fee, ID Column
	Attrs                                              map[string]Column // attribute name to column
}

// Column is a header name or a fixed value for every row.
type Column struct {
	Header  string
	Fixed   string
	IsFixed bool
}

// ParseColumn reads a column as it stands in a configuration: "=CNY" is the fixed value CNY, anything else a header.
func ParseColumn(text string) Column {
	if v, ok := strings.CutPrefix(text, "="); ok {
		return Column{Fixed: v, IsFixed: true}
	}
	return Column{Header: text}
}

// Set reports whether the column is mapped at all.
func (c Column) Set() bool { return c.IsFixed || c.Header != "" }

// The names of the columns with a meaning of their own; every other name is an attribute.
const (
	ColKey        = "key"
	ColAmount     = "amount"
	ColCurrency   = "currency"
	ColStatus     = "status"
	ColOccurredAt = "occurred_at"
	ColFee        = "fee"
	ColID         = "id"
)

// Get returns the column of that name, with its own meaning or an attribute.
func (c Columns) Get(name string) (Column, bool) {
	var col Column
	switch name {
	case ColKey:
		col = c.Key
	case ColAmount:
		col = c.Amount
	case ColCurrency:
		col = c.Currency
	case ColStatus:
		col = c.Status
	case ColOccurredAt:
		col = c.OccurredAt
	case ColFee:
		col = c.Fee
	case ColID:
		col = c.ID
	default:
		col = c.Attrs[name]
	}
	return col, col.Set()
}

// Put sets the column of that name, with its own meaning or as an attribute.
func (c *Columns) Put(name string, col Column) {
	switch name {
	case ColKey:
		c.Key = col
	case ColAmount:
		c.Amount = col
	case ColCurrency:
		c.Currency = col
	case ColStatus:
		c.Status = col
	case ColOccurredAt:
		c.OccurredAt = col
	case ColFee:
		c.Fee = col
	case ColID:
		c.ID = col
	default:
		if c.Attrs == nil {
			c.Attrs = map[string]Column{}
		}
		c.Attrs[name] = col
	}
}

// ParseDelimiter reads the delimiter of a configuration: one character, "\t" or "tab"; "" is the comma.
func ParseDelimiter(text string) (rune, error) {
	switch text {
	case "":
		return ',', nil
	case `\t`, "tab", "\t":
		return '\t', nil
	}
	return oneRune("delimiter", text)
}

// ParseQuote reads the quote of a configuration: one character or "none"; "" is the double quote.
func ParseQuote(text string) (rune, error) {
	switch text {
	case "":
		return '"', nil
	case "none":
		return NoQuote, nil
	}
	return oneRune("quote", text)
}

func oneRune(what, text string) (rune, error) {
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) || r == utf8.RuneError || r == '\n' || r == '\r' || r == 0 {
		return 0, fmt.Errorf("%s %q: want one character: %w", what, text, ErrSpec)
	}
	return r, nil
}

// Request asks for one side of one business day.
type Request struct {
	Job      string
	Side     model.Side
	Day      model.Day
	From, To time.Time      // the instants that the business day covers, for queries
	Zone     *time.Location // the job's; of instants without offset when the spec names none
	Rules    model.Rules
}

// Source reads entries. It holds no open file between calls and may be used by many goroutines at once.
type Source interface {
	// Read yields every entry of the day and returns the seal of what was read. Nothing that was yielded is valid when
	// the error is not nil. An error of yield ends the reading and is returned.
	Read(ctx context.Context, req Request, yield func(model.Entry) error) (model.Seal, error)

	// Peek says cheaply whether the source is there, else [ErrNotThere]. The fingerprint changes when a file's name, size
	// or time changes; it is "" for queries, which are always there.
	Peek(ctx context.Context, req Request) (fingerprint string, err error)
}

// Env is what sources need from the program.
type Env struct {
	Root string                                     // where relative paths start
	Conn func(context.Context) (driver.Conn, error) // for queries; may be nil when no job has one
}
