package scenario

import (
	"cmp"
	"fmt"
	"time"
)

// temper is how a job behaves and which faults are planted in it.
type temper struct {
	name      string
	order     string
	zone      string
	currency  string
	carry     int
	mode      string
	gz        bool   // the bills are compressed
	charset   string // of the bills
	delimiter string
}

// tempers are the jobs of every book: one of each kind that users have.
var tempers = []temper{
	{name: "cards", order: "strict", zone: "Asia/Shanghai", currency: "CNY", carry: 2, mode: "one", gz: true, charset: "gb18030", delimiter: ","},
	{name: "wallet", order: "independent", zone: "America/New_York", currency: "USD", carry: 0, mode: "one", charset: "utf-8", delimiter: ";"},
	{name: "split", order: "strict", zone: "Europe/London", currency: "GBP", carry: 1, mode: "sum", charset: "utf-8", delimiter: ","},
}

// billHeader names the columns of the bills; the Chinese ones prove that names and encodings survive.
func (t temper) billHeader() []string {
	if t.charset == "gb18030" {
		return []string{"商户订单号", "流水号", "金额", "币种", "状态", "时间"}
	}
	return []string{"order", "row", "amount", "currency", "state", "time"}
}

func (t temper) billName() string {
	if t.gz {
		return "{date:20060102}.csv.gz"
	}
	return "{date:20060102}.csv"
}

// yaml is the job in the configuration file.
func (t temper) yaml(o Options) string {
	h := t.billHeader()
	compare, statuses := "[status]", "    status_map: { ledger: { PAID: success, CLOSED: closed }, channel: { SUCCESS: success } }\n"
	if t.mode == "sum" {
		compare, statuses = "[]", ""
	}
	return fmt.Sprintf(`  - name: %s
    timezone: %s
    start: %s
    calendar: daily
    due: { after: 1, at: "01:00", patience: %s }
    order: %s
    backfill: { max_days: 60 }
    carry: { days: %d }
    ledger:
      csv: { path: "%s/ledger/{date}.csv", columns: { key: order_no, id: row_no, amount: amount, currency: currency, status: state, occurred_at: paid_at } }
    channel:
      csv: { path: "%s/bills/%s", encoding: %s, delimiter: "%s", columns: { key: %s, id: %s, amount: %s, currency: %s, status: %s, occurred_at: %s } }
    audit: { every: %s, count: 0, amount: { default: "0" } }
    match: { key: [key], mode: %s, tolerance: { default: "0", %s: "0.01" }, compare: %s }
%s`, t.name, t.zone, o.First, cmp.Or(o.Patience, 24*time.Hour), t.order, t.carry, t.name, t.name, t.billName(), t.charset, t.delimiter,
		h[0], h[1], h[2], h[3], h[4], h[5], cmp.Or(o.Audit, 10*time.Minute), t.mode, t.currency, compare, statuses)
}
