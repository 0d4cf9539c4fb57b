package oracle

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// Job is one job of the made-up books: where its files are, what their columns mean, how it is compared.
type Job struct {
	Name            string
	Rules           Rules
	Ledger, Channel Form
}

// Form says how the files of one side look.
type Form struct {
	Path                          string // below the book's folder; a layout of package time
	Comma                         rune
	Gzip, GB18030                 bool
	Key, Amount, Currency, Status string            // column names
	Statuses                      map[string]string // what a status means; one that is not listed means itself
}

func ledger(job string, statuses map[string]string) Form {
	return Form{
		Path: job + "/ledger/2006-01-02.csv", Comma: ',', Key: "order_no", Amount: "amount", Currency: "currency",
		Status: "state", Statuses: statuses,
	}
}

// Jobs are the jobs that every made-up book has.
func Jobs() []Job {
	ours, theirs := map[string]string{"PAID": "success", "CLOSED": "closed"}, map[string]string{"SUCCESS": "success"}
	return []Job{
		{
			Name: "cards", Rules: Rules{Carry: 2, Tolerance: map[string]string{"CNY": "0.01"}, Status: true}, Ledger: ledger("cards", ours),
			Channel: Form{
				Path: "cards/bills/20060102.csv.gz", Comma: ',', Gzip: true, GB18030: true,
				Key: "商户订单号", Amount: "金额", Currency: "币种", Status: "状态", Statuses: theirs,
			},
		},
		{
			Name: "wallet", Rules: Rules{Tolerance: map[string]string{"USD": "0.01"}, Status: true}, Ledger: ledger("wallet", ours),
			Channel: Form{
				Path: "wallet/bills/20060102.csv", Comma: ';', Key: "order", Amount: "amount", Currency: "currency", Status: "state",
				Statuses: theirs,
			},
		},
		{
			Name: "split", Rules: Rules{Sum: true, Carry: 1, Tolerance: map[string]string{"GBP": "0.01"}}, Ledger: ledger("split", nil),
			Channel: Form{
				Path: "split/bills/20060102.csv", Comma: ',', Key: "order", Amount: "amount", Currency: "currency", Status: "state",
			},
		},
	}
}

// Reconcile reads the files of n days from first on and compares them.
func (j Job) Reconcile(dir string, first time.Time, n int) ([]Outcome, error) {
	var days []Day
	for i := range n {
		at := first.AddDate(0, 0, i)
		l, err := j.Ledger.Read(dir, at)
		if err != nil {
			return nil, err
		}
		c, err := j.Channel.Read(dir, at)
		if err != nil {
			return nil, err
		}
		days = append(days, Day{l, c})
	}
	return j.Rules.Compare(days), nil
}

// Read reads the file of one day.
func (f Form) Read(dir string, day time.Time) ([]Entry, error) {
	path := filepath.Join(dir, filepath.FromSlash(day.Format(f.Path)))
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var in io.Reader = file
	if f.Gzip {
		if in, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if f.GB18030 {
		in = simplifiedchinese.GB18030.NewDecoder().Reader(in)
	}
	lines := csv.NewReader(in)
	lines.Comma = f.Comma
	rows, err := lines.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out, err := f.entries(rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

var plainAmount = regexp.MustCompile(`^[+-]?\d+(\.\d+)?$`)

func (f Form) entries(rows [][]string) ([]Entry, error) {
	at := map[string]int{}
	for _, name := range []string{f.Key, f.Amount, f.Currency, f.Status} {
		i := slices.Index(rows[0], name)
		if i < 0 {
			return nil, fmt.Errorf("no column %s in %v", name, rows[0])
		}
		at[name] = i
	}
	var out []Entry
	for n, row := range rows[1:] {
		amount, ok := new(big.Rat), plainAmount.MatchString(row[at[f.Amount]])
		if ok {
			_, ok = amount.SetString(row[at[f.Amount]])
		}
		if !ok {
			return nil, fmt.Errorf("row %d: amount %q", n+2, row[at[f.Amount]])
		}
		e := Entry{Key: row[at[f.Key]], Currency: row[at[f.Currency]], Status: row[at[f.Status]], Amount: amount}
		e.Means = e.Status
		if meaning, ok := f.Statuses[e.Status]; ok {
			e.Means = meaning
		}
		out = append(out, e)
	}
	return out, nil
}
