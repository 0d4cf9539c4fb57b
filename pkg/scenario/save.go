package scenario

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/text/encoding/simplifiedchinese"

	"daybreak/pkg/model"
)

// save writes every day of both sides, rows in an order of their own.
func (j *jobBook) save(dir string) error {
	for i := range j.o.Days {
		day := j.o.First.Add(i)
		if err := j.saveLedger(dir, day); err != nil {
			return err
		}
		if err := j.saveBill(dir, day); err != nil {
			return err
		}
	}
	return nil
}

func (j *jobBook) saveLedger(dir string, day model.Day) error {
	text, err := j.csv(j.ledger[day], []string{"order_no", "row_no", "amount", "currency", "state", "paid_at"}, ",")
	if err != nil {
		return err
	}
	return put(filepath.Join(dir, j.name, "ledger", day.String()+".csv"), text)
}

func (j *jobBook) saveBill(dir string, day model.Day) error {
	text, err := j.csv(j.channel[day], j.billHeader(), j.delimiter)
	if err != nil {
		return err
	}
	if j.charset == "gb18030" {
		if text, err = simplifiedchinese.GB18030.NewEncoder().Bytes(text); err != nil {
			return err
		}
	}
	if j.gz {
		if text, err = packed(text); err != nil {
			return err
		}
	}
	name := strings.ReplaceAll(j.billName(), "{date:20060102}", strings.ReplaceAll(day.String(), "-", ""))
	return put(filepath.Join(dir, j.name, "bills", name), text)
}

func (j *jobBook) csv(s *sheet, header []string, delimiter string) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma = rune(delimiter[0])
	if err := w.Write(header); err != nil {
		return nil, err
	}
	j.rng.Shuffle(len(s.rows), func(a, b int) { s.rows[a], s.rows[b] = s.rows[b], s.rows[a] })
	for _, r := range s.rows {
		if err := w.Write([]string{r.key, r.id, r.amount, r.currency, r.status, r.time}); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

func packed(text []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func put(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
