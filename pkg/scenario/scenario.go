package scenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"daybreak/pkg/model"
)

// Options say how large a book is.
type Options struct {
	Seed    uint64
	First   model.Day
	Days    int    // business days per job; every calendar day is one
	Entries int    // clean payments per job and day
	Data    string // the data folder of the configuration; "data" when empty

	// What the configuration says of time; zero values leave the usual.
	Lease    time.Duration // how long a worker may be silent before its day goes to another
	Audit    time.Duration // the interval of the auditor; 10 minutes when zero
	Patience time.Duration // how long a missing file is waited for; a day when zero
}

// Fault is one planted difference, as it must come out.
type Fault struct {
	Job     string
	Day     model.Day // the batch whose diff it is
	Key     string
	Kind    model.Kind
	Ledger  string // amounts as the diff must show them, "" where no single figure can say it
	Channel string
	Origin  model.Day // the entry's own day
}

// Book is what was written.
type Book struct {
	Config  string // path of the configuration file
	Jobs    []string
	First   model.Day
	Last    model.Day
	Faults  []Fault // sorted by job, day and key
	Waiting int     // entries that still wait for their counterpart after the last day
	Entries int     // rows written, both sides of all jobs
}

// Write makes a book in dir: a configuration and one file per job, side and day.
func Write(dir string, o Options) (*Book, error) {
	b := &Book{Config: filepath.Join(dir, "daybreak.yaml"), First: o.First, Last: o.First.Add(o.Days - 1)}
	data := o.Data
	if data == "" {
		data = "data"
	}
	text := strings.Builder{}
	fmt.Fprintf(&text, "data: %s\nhttp: { listen: 127.0.0.1:0 }\n", data)
	if o.Lease > 0 {
		fmt.Fprintf(&text, "lease: { ttl: %s }\n", o.Lease)
	}
	text.WriteString("jobs:\n")
	for i, t := range tempers {
		j := &jobBook{temper: t, o: o, rng: rand.New(rand.NewPCG(o.Seed, uint64(i))), ledger: map[model.Day]*sheet{}, channel: map[model.Day]*sheet{}}
		j.write()
		if err := j.save(dir); err != nil {
			return nil, err
		}
		b.Jobs = append(b.Jobs, t.name)
		b.Faults = append(b.Faults, j.faults...)
		b.Waiting += j.waiting
		b.Entries += j.rows
		text.WriteString(t.yaml(o))
	}
	slices.SortFunc(b.Faults, func(x, y Fault) int { return strings.Compare(x.sortKey(), y.sortKey()) })
	return b, os.WriteFile(b.Config, []byte(text.String()), 0o600)
}

// Now is an instant at which the last day of every job is due and the one after it is not yet, in any of their zones.
func (b *Book) Now() time.Time { return b.Last.Add(1).UTC().Add(12 * time.Hour) }

func (f Fault) sortKey() string { return f.Job + " " + f.Day.String() + " " + f.Key }

// String is one line for people and for comparing what was planted with what was found.
func (f Fault) String() string {
	return fmt.Sprintf("%s %s %s %s ledger=%s channel=%s origin=%s", f.Job, f.Day, f.Key, f.Kind, f.Ledger, f.Channel, f.Origin)
}
