package alipay

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// beijing is the zone of every time that Alipay prints. It has had no clock changes since there is Alipay.
var beijing = time.FixedZone("+08:00", 8*60*60)

const chineseTime = "2006年01月02日 15:04:05"

// period is when the rows of a list happened: from from, to to exclusively. The zero period is not known.
type period struct{ from, to time.Time }

var periodLine = regexp.MustCompile(`^起始日期[:：]\s*\[([^\]]*)\]\s*终止日期[:：]\s*\[([^\]]*)\]$`)

// readPeriod reads the comment that says the period.
func readPeriod(comment string) (period, error) {
	found := periodLine.FindStringSubmatch(bare(comment))
	if found == nil {
		return period{}, fmt.Errorf("the period %q is not understood: want #起始日期：[…]   终止日期：[…]", text.Clip(comment, 80))
	}
	var p period
	var err error
	as := text.Instants{Format: chineseTime, Zone: beijing}
	if p.from, err = as.Parse(found[1]); err != nil {
		return period{}, fmt.Errorf("start of the period: %w", err)
	}
	if p.to, err = as.Parse(found[2]); err != nil {
		return period{}, fmt.Errorf("end of the period: %w", err)
	}
	if !p.from.Before(p.to) {
		return period{}, fmt.Errorf("the period ends at %s, which is not after its start %s", found[2], found[1])
	}
	return p, nil
}

func (p period) known() bool { return !p.to.IsZero() }

func (p period) holds(t time.Time) bool { return !t.Before(p.from) && t.Before(p.to) }

func (p period) String() string {
	return fmt.Sprintf("%s to before %s", p.from.In(beijing).Format(time.DateTime), p.to.In(beijing).Format(time.DateTime))
}

var (
	totalLine = regexp.MustCompile(`^(\p{Han}+合计)[:：](\d{1,18})笔((?:[，,]\p{Han}*共[+-]?[0-9.]+元)+)$`)
	totalPart = regexp.MustCompile(`[，,](\p{Han}*)共([+-]?[0-9.]+)元`)
)

// total is a line of totals behind a list.
type total struct {
	name    string
	count   decimal.Decimal
	figures map[string]decimal.Decimal // by their names, "" for the only one
}

// readTotal reads a comment that begins as a total line does. It must have exactly the figures that its kind has.
func (k *kind) readTotal(comment string) (total, error) {
	fault := fmt.Errorf("the total line %q is not understood: it is cut, edited or of a new kind; deliver the file as Alipay made it", text.Clip(comment, 120))
	found := totalLine.FindStringSubmatch(bare(comment))
	if found == nil || k.totals[found[1]] == nil {
		return total{}, fault
	}
	t := total{name: found[1], figures: map[string]decimal.Decimal{}}
	var err error
	if t.count, err = bill.ParseMoney(found[2]); err != nil {
		return total{}, err
	}
	var names []string
	for _, part := range totalPart.FindAllStringSubmatch(found[3], -1) {
		if t.figures[part[1]], err = bill.ParseMoney(part[2]); err != nil {
			return total{}, fmt.Errorf("total line %s: %w", t.name, err)
		}
		names = append(names, part[1])
	}
	if k.abs[t.name] {
		t.figures[""] = t.figures[""].Abs()
	}
	if !slices.Equal(names, k.totals[t.name]) {
		return total{}, fault
	}
	return t, nil
}

// isTotal reports whether a comment is, or was, a line of totals.
func isTotal(comment string) bool {
	head, _, _ := strings.Cut(bare(comment), "笔")
	return strings.Contains(head, "合计")
}

// controlCount and controlSum name the figures of total lines among the controls of the bill.
func controlCount(total string) string { return total + " 笔数" }

func controlSum(total, figure string) string {
	if figure == "" {
		return total + " 金额"
	}
	return total + " " + figure
}
