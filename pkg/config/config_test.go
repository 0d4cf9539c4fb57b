package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"daybreak/pkg/model"
	"daybreak/pkg/source"
)

// write puts a configuration into a folder of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "daybreak.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// load loads a configuration that must be good.
func load(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load(write(t, text))
	require.NoError(t, err)
	return c
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

// requireAmounts compares amounts by value.
func requireAmounts(t *testing.T, want map[string]string, got map[string]decimal.Decimal) {
	t.Helper()
	text := map[string]string{}
	for c, v := range got {
		text[c] = v.String()
	}
	require.Equal(t, want, text)
}

// The example of the design, with the channel as csv because this version has no bill formats.
const designExample = `nats:       { url: embedded }            # or nats://…; creds, tls, replicas
clickhouse: { url: embedded }            # or clickhouse://… / https://…; cluster
data: ./data
http: { listen: 127.0.0.1:7070 }         # /metrics /healthz /readyz, console
jobs:
  - name: wechat
    timezone: Asia/Shanghai
    start: 2026-10-01
    calendar: daily                      # daily | weekdays | {weekdays: [...], holidays: [...]}
    due: { after: 1, at: "01:00", patience: 10h }
    order: strict                        # strict | independent
    backfill: { max_days: 30 }
    carry: { days: 3 }
    ledger:
      csv: { path: "ledger/{date}.csv", columns: { key: order_no, amount: amount, currency: =CNY, status: state, occurred_at: paid_at } }
    channel:
      CHANNEL
    audit: { every: 10m, count: 0, amount: { default: "0" } }   # accepted difference, source against result
    match: { key: [key], mode: one, tolerance: { default: "0", CNY: "0.01" }, compare: [status] }
    status_map: { ledger: { PAID: success }, channel: { SUCCESS: success } }
`

func TestDesignExample(t *testing.T) {
	t.Parallel()
	c := load(t, replace(designExample, "CHANNEL",
		`csv: { path: "bills/{date:20060102}.csv.gz", columns: { key: no, amount: sum, currency: cur, status: state } }`))
	require.Equal(t, filepath.Dir(c.Path), c.Root)
	require.Equal(t, NATS{URL: "embedded", Replicas: 1}, c.NATS)
	require.True(t, c.NATS.Embedded())
	require.Equal(t, ClickHouse{URL: "embedded", Database: "daybreak"}, c.ClickHouse)
	require.True(t, c.ClickHouse.Embedded())
	require.Equal(t, filepath.Join(c.Root, "data"), c.DataDir)
	require.Equal(t, "127.0.0.1:7070", c.HTTP.Listen)
	require.Len(t, c.Jobs, 1)

	j := c.Jobs[0]
	requireAmounts(t, map[string]string{"default": "0"}, j.Audit.Amount)
	requireAmounts(t, map[string]string{"default": "0", "CNY": "0.01"}, j.Rules.Tolerance)
	j.Audit.Amount, j.Rules.Tolerance = nil, nil
	require.Equal(t, model.Job{
		Name: "wechat", Location: zone(t, "Asia/Shanghai"), Start: model.NewDay(2026, 10, 1),
		Calendar:     model.DailyCalendar(),
		Due:          model.Due{AfterDays: 1, At: model.TimeOfDay{Hour: 1}, Patience: 10 * time.Hour},
		Order:        model.Strict,
		BackfillDays: 30, CarryDays: 3,
		Rules: model.Rules{
			Key: []string{"key"}, Mode: model.ModeOne, Compare: []string{"status"},
			StatusMap: map[model.Side]map[string]string{"ledger": {"PAID": "success"}, "channel": {"SUCCESS": "success"}},
		},
		Audit: model.AuditRule{Every: 10 * time.Minute},
	}, j.Job)
	require.Equal(t, source.Spec{
		Kind: source.KindCSV,
		CSV:  &source.CSV{Path: "ledger/{date}.csv", Encoding: "auto", Delimiter: ',', Quote: '"'},
		Columns: source.Columns{
			Key: source.Column{Header: "order_no"}, Amount: source.Column{Header: "amount"},
			Currency: source.Column{Fixed: "CNY", IsFixed: true}, Status: source.Column{Header: "state"},
			OccurredAt: source.Column{Header: "paid_at"},
		},
	}, j.Source(model.Ledger))
	require.Equal(t, "bills/{date:20060102}.csv.gz", j.Source(model.Channel).CSV.Path)
}

func TestDesignExampleWithBill(t *testing.T) {
	t.Parallel()
	const described = `bill: { format: wechatpay-trade, path: "bills/{date:20060102}.csv.gz" }`
	spec := load(t, replace(designExample, "CHANNEL", described)).Jobs[0].Source(model.Channel)
	require.Equal(t, source.KindBill, spec.Kind)
	require.Equal(t, &source.Bill{Path: "bills/{date:20060102}.csv.gz", Format: "wechatpay-trade"}, spec.Bill)

	_, err := Load(write(t, replace(designExample, "CHANNEL", replace(described, "wechatpay", "wechat"))))
	var all *Errors
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Problems, 1)
	require.Equal(t, `jobs[0].channel.bill.format`, all.Problems[0].Path)
	require.Equal(t, `"wechat-trade" is not known`, all.Problems[0].What)
	require.Equal(t, 17, all.Problems[0].Line)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, good)
	require.Equal(t, Lease{TTL: 30 * time.Second}, c.Lease)
	require.Equal(t, Recon{Workers: 2}, c.Recon)
	require.Equal(t, Retention{Grace: 24 * time.Hour}, c.Retention)
	require.Equal(t, "127.0.0.1:7070", c.HTTP.Listen)
	require.Equal(t, filepath.Join(c.Root, "data"), c.DataDir)
	j := c.Jobs[0]
	require.Equal(t, model.Strict, j.Order)
	require.Equal(t, 30, j.BackfillDays)
	require.Zero(t, j.CarryDays)
	require.Equal(t, model.TimeOfDay{}, j.Cutoff)
	require.Equal(t, 10*time.Hour, j.Due.Patience)
	require.Equal(t, 10*time.Minute, j.Audit.Every)
	require.Equal(t, []string{"key"}, j.Rules.Key)
	require.Equal(t, model.ModeOne, j.Rules.Mode)
	requireAmounts(t, map[string]string{"default": "0"}, j.Rules.Tolerance)
	requireAmounts(t, map[string]string{"default": "0"}, j.Audit.Amount)
	require.Nil(t, j.Ledger.Zone)
}

// Nothing goes through YAML's guesses: 01:00 is not 60 (sexagesimal), amounts keep every digit, no is a word.
func TestPlainScalarsAreText(t *testing.T) {
	t.Parallel()
	c := load(t, replace(good, `at: "01:00"`, `at: 01:00:30`,
		"name: shop", "name: 123", "# MORE", `match: { tolerance: { default: 999999999999999999.12345678 }, compare: [no] }
    cutoff: 17:30
    status_map: { ledger: { yes: on, 0x1F: 1e3 } }`,
		"{ key: no, amount: a, currency: =CNY }", "{ key: no, amount: a, currency: =CNY, status: s, no: yes }"))
	j := c.Jobs[0]
	require.Equal(t, "123", j.Name)
	require.Equal(t, model.TimeOfDay{Hour: 1, Second: 30}, j.Due.At)
	require.Equal(t, model.TimeOfDay{Hour: 17, Minute: 30}, j.Cutoff)
	require.Equal(t, "999999999999999999.12345678", j.Rules.Tolerance["default"].String())
	require.Equal(t, []string{"no"}, j.Rules.Compare)
	require.Equal(t, map[string]string{"yes": "on", "0x1F": "1e3"}, j.Rules.StatusMap[model.Ledger])
	require.Equal(t, source.Column{Header: "yes"}, j.Ledger.Columns.Attrs["no"])
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"10h": 10 * time.Hour, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second,
	} {
		got, bad := parseDuration(text)
		require.Nil(t, bad, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "10", "-1h", "1d-1h", "+1h", "1.5d", "d", "1h2d", "999999d", "106751d24h", "1 h", "1D"} {
		_, bad := parseDuration(text)
		require.NotNil(t, bad, text)
	}
}

func TestCalendars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Calendar{
		"daily":    model.DailyCalendar(),
		"weekdays": model.WeekdayCalendar(),
		"{ weekdays: [mon, Wednesday, SUN], holidays: [2026-10-01, '2026-10-02'] }": {
			Weekdays: [7]bool{time.Sunday: true, time.Monday: true, time.Wednesday: true},
			Holidays: map[model.Day]bool{model.NewDay(2026, 10, 1): true, model.NewDay(2026, 10, 2): true},
		},
	} {
		c := load(t, replace(good, "# MORE", "calendar: "+text))
		require.Equal(t, want, c.Jobs[0].Calendar, text)
	}
}

func TestAnchorsAndMerges(t *testing.T) {
	t.Parallel()
	c := load(t, `jobs:
  - &base
    name: one
    timezone: UTC
    start: 2026-10-01
    due: &due { after: 1, at: 01:00 }
    ledger: &books
      csv: { path: "a/{date}.csv", columns: &columns { key: k, amount: a, currency: =CNY } }
    channel:
      csv: { path: "b/{date}.csv", columns: *columns }
  - <<: *base
    name: two
    due: { <<: [*due], at: 02:00 }
`)
	require.Equal(t, "two", c.Jobs[1].Name)
	require.Equal(t, 1, c.Jobs[1].Due.AfterDays)
	require.Equal(t, 2, c.Jobs[1].Due.At.Hour)
	require.Equal(t, c.Jobs[0].Ledger, c.Jobs[1].Ledger)
	require.Equal(t, c.Jobs[0].Ledger.Columns, c.Jobs[1].Channel.Columns)
	_, found := c.Job("two")
	require.True(t, found)
	_, found = c.Job("three")
	require.False(t, found)
	require.Len(t, c.ModelJobs(), 2)
}

func TestExternalEngines(t *testing.T) {
	t.Parallel()
	c := load(t, `nats: { url: "nats://a:4222, tls://b", user: u, password_file: nats.pw, replicas: 3, tls_first: true,
  tls: { ca: ca.pem, cert: /etc/c.pem, key: k.pem } }
clickhouse: { url: "clickhouse://a:9440,b:9440/?secure=true", user: u, password_file: ch.pw, database: books, cluster: main, tls: { ca: ca.pem } }
data: /var/lib/daybreak
`+good)
	root := c.Root
	require.Equal(t, NATS{
		URL: "nats://a:4222, tls://b", User: "u", PasswordFile: filepath.Join(root, "nats.pw"), Replicas: 3,
		TLSFirst: true, TLS: TLS{CA: filepath.Join(root, "ca.pem"), Cert: "/etc/c.pem", Key: filepath.Join(root, "k.pem")},
	}, c.NATS)
	require.Equal(t, ClickHouse{
		URL: "clickhouse://a:9440,b:9440/?secure=true", User: "u",
		PasswordFile: filepath.Join(root, "ch.pw"), Database: "books", Cluster: "main",
		TLS: TLS{CA: filepath.Join(root, "ca.pem")},
	}, c.ClickHouse)
	require.Equal(t, "/var/lib/daybreak", c.DataDir)
	require.False(t, c.NATS.Embedded())

	for _, url := range []string{"http://a:8123", "https://a", "clickhouse://u@a:9000", "clickhouse://[::1]:9000"} {
		load(t, "clickhouse: { url: '"+url+"' }\n"+good)
	}
}

func TestAddressesAndEncryption(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nats://a:4222,tls://b", NATS{URL: "nats://u:p@a:4222,tls://u:p@b"}.Address())
	require.Equal(t, "clickhouse://a:9440,b:9440/db", ClickHouse{URL: "clickhouse://u:p@x@a:9440,b:9440/db?password=p"}.Address())
	require.Equal(t, "embedded", ClickHouse{URL: Embedded}.Address())
	for url, want := range map[string]bool{
		"https://a": true, "http://a": false, "clickhouse://a": false, "clickhouse://a?x=1&secure=true": true, Embedded: false,
	} {
		require.Equal(t, want, ClickHouse{URL: url}.Secure(), url)
	}
	require.True(t, ClickHouse{URL: "clickhouse://a", TLS: TLS{CA: "ca.pem"}}.Secure())
}

func TestCheckFilesAndPasswords(t *testing.T) {
	t.Parallel()
	path := write(t, `nats: { url: "nats://a:4222", user: u, password_file: nats.pw }
clickhouse:
  url: https://a:8443
  tls: { ca: ca.pem }
`+good)
	root := filepath.Dir(path)
	require.NoError(t, os.WriteFile(filepath.Join(root, "nats.pw"), []byte(" secret \r\n"), 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	err = c.CheckFiles()
	require.EqualError(t, err, path+":4:14: clickhouse.tls.ca: "+filepath.Join(root, "ca.pem")+
		" cannot be read: no such file or directory; check the path and its permissions")
	require.NoError(t, os.WriteFile(filepath.Join(root, "ca.pem"), nil, 0o600))
	require.NoError(t, c.CheckFiles())

	secret, err := c.NATS.Password()
	require.NoError(t, err)
	require.Equal(t, " secret ", secret)
	secret, err = c.ClickHouse.Password()
	require.NoError(t, err)
	require.Empty(t, secret)
	require.NoError(t, os.WriteFile(filepath.Join(root, "nats.pw"), []byte("\n"), 0o600))
	_, err = c.NATS.Password()
	require.ErrorContains(t, err, "nats.pw holds no password")
}

func TestLoadUnreadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.yaml")
	c, err := Load(path)
	require.Nil(t, c)
	require.EqualError(t, err, path+": cannot be read: no such file or directory; check the path and its permissions")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, ErrInvalid)
	var all *Errors
	require.ErrorAs(t, err, &all)

	_, err = Load(t.TempDir())
	require.ErrorContains(t, err, "is a directory")
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	got, err := Find("flag.yaml", "env.yaml")
	require.NoError(t, err)
	require.Equal(t, "flag.yaml", got)
	got, err = Find("", "env.yaml")
	require.NoError(t, err)
	require.Equal(t, "env.yaml", got)

	_, err = Find("", "")
	require.ErrorIs(t, err, ErrNoFile)
	for _, place := range []string{"-f", "DAYBREAK_CONFIG", "./daybreak.yaml"} {
		require.ErrorContains(t, err, place)
	}
	require.NoError(t, os.WriteFile("daybreak.yaml", []byte(good), 0o600))
	got, err = Find("", "")
	require.NoError(t, err)
	require.Equal(t, "./daybreak.yaml", got)
}

func TestSample(t *testing.T) {
	t.Parallel()
	const example = "../../deploy/daybreak.example.yaml"
	text, err := os.ReadFile(example)
	require.NoError(t, err)
	require.Equal(t, Sample(), string(text), "deploy/daybreak.example.yaml and pkg/config/sample.yaml must be the same")
	c, err := Load(example)
	require.NoError(t, err)
	require.Len(t, c.Jobs, 3)
	require.Equal(t, source.KindParquet, c.Jobs[1].Ledger.Kind)
	require.Equal(t, source.KindQuery, c.Jobs[1].Channel.Kind)
	require.Equal(t, []string{"key", "type"}, c.Jobs[1].Rules.Key)
}
