package scenario

import (
	"fmt"
	"math/rand/v2"

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// row is one line of a side before it is written.
type row struct {
	key, id, amount, currency, status, time string
}

// sheet is one side of one day.
type sheet struct{ rows []row }

// jobBook is a job's books while they are made up.
type jobBook struct {
	temper
	o       Options
	rng     *rand.Rand
	ledger  map[model.Day]*sheet
	channel map[model.Day]*sheet
	faults  []Fault
	waiting int
	rows    int
	serial  int
}

// write makes up every day: the clean payments, then each plant.
func (j *jobBook) write() {
	for i := range j.o.Days {
		day := j.o.First.Add(i)
		j.ledger[day], j.channel[day] = j.sheet(j.ledger, day), j.sheet(j.channel, day)
		for range j.o.Entries {
			cents := j.cents()
			key := j.key(day)
			j.book(j.ledger, day, key, cents, "PAID")
			j.book(j.channel, day, key, cents, "SUCCESS")
		}
		for _, plant := range plants {
			if plant.mode == "" || plant.mode == j.mode {
				plant.sow(j, day)
			}
		}
	}
}

func (j *jobBook) sheet(side map[model.Day]*sheet, day model.Day) *sheet {
	if side[day] == nil {
		side[day] = &sheet{}
	}
	return side[day]
}

func (j *jobBook) last() model.Day { return j.o.First.Add(j.o.Days - 1) }

func (j *jobBook) cents() int64 { return 1 + j.rng.Int64N(500_000) }

func (j *jobBook) key(day model.Day) string {
	j.serial++
	return fmt.Sprintf("00%s%s%07d", j.name[:1], day, j.serial)
}

// book writes a row on one side of one day.
func (j *jobBook) book(side map[model.Day]*sheet, day model.Day, key string, cents int64, status string) {
	j.serial++
	s := j.sheet(side, day)
	s.rows = append(s.rows, row{
		key: key, id: fmt.Sprintf("%020d", j.serial), amount: money(cents), currency: j.currency, status: status,
		time: fmt.Sprintf("%s %02d:%02d:%02d", day, 9+j.rng.IntN(12), j.rng.IntN(60), j.rng.IntN(60)),
	})
	j.rows++
}

// fault writes down what must come out of a plant.
func (j *jobBook) fault(day model.Day, key string, kind model.Kind, ledger, channel string, origin model.Day) {
	j.faults = append(j.faults, Fault{
		Job: j.name, Day: day, Key: key, Kind: kind, Ledger: plain(ledger), Channel: plain(channel), Origin: origin,
	})
}

// plain is an amount without trailing zeros, as diffs show it.
func plain(amount string) string { return decimal.RequireFromString(amount).String() }

// money prints cents as units, with trailing zeros dropped now and then as real exports do.
func money(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	if cents%100 == 0 && cents%3 == 0 {
		return fmt.Sprintf("%s%d", sign, cents/100)
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}
