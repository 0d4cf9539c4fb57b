package config

// The golden messages: each case is a whole file and every message that it must give. Keys that a case adds to the job
// stand on line 10.

var wrongText = []wrong{
	{"empty", "", []string{
		`1:1: the file is empty; give it at least jobs:`,
	}},
	{"only comments", "# nothing\n\n", []string{
		`1:1: the file is empty; give it at least jobs:`,
	}},
	{"only a marker", "---\n", []string{
		`1:1: the file is empty; give it at least jobs:`,
	}},
	{"a list", "- a\n", []string{
		`1:1: must be a mapping, is a list; begin with jobs:`,
	}},
	{"not UTF-8", "jobs:\n  - name: \"\xff\"\n", []string{
		`2:12: not UTF-8 text; save the file as UTF-8`,
	}},
	{"control character", "jobs:\n  - name: a\x00b\n", []string{
		`2:12: control character U+0000; remove it`,
	}},
	{"tab", "jobs:\n\t- name: a\n", []string{
		`2:1: not valid YAML: a tab in the indentation; indent with spaces`,
	}},
	{"bracket never closed", "jobs:\n  - name: a\n    due: { after: 1\n  - name: b\ndata: x\n", []string{
		`3:5: not valid YAML: did not find expected ',' or '}'; look at the indentation, colons, quotes and brackets of this line`,
	}},
	{"quote never closed", "data: x\njobs:\n  - name: \"a\n    start: 2026-10-01\n", []string{
		`3:3: not valid YAML: found unexpected end of stream; look at the indentation, colons, quotes and brackets of this line`,
	}},
	{"indentation", "jobs:\n - name: a\n   start: b\n  due: c\ndata: d\n", []string{
		`4:3: not valid YAML: did not find expected '-' indicator; look at the indentation, colons, quotes and brackets of this line`,
	}},
	{"no colon", "data: x\nhttp\njobs: []\n", []string{
		`2:1: not valid YAML: could not find expected ':'; look at the indentation, colons, quotes and brackets of this line`,
	}},
	{"unknown anchor", "data: x\njobs: *none\n", []string{
		`2:1: not valid YAML: unknown anchor 'none' referenced; look at the indentation, colons, quotes and brackets of this line`,
	}},
	{"two documents", good + "---\njobs: []\n", []string{
		`11:1: a second YAML document begins here; one file holds one document: remove the --- or split the file`,
	}},
	{"fault in a second document", good + "---\njobs: [\n", []string{
		`12:1: not valid YAML: did not find expected node content; look at the indentation, colons, quotes and brackets of this line`,
	}},
	{"unknown tag", replace(good, "name: shop", "name: !env SHOP"), []string{
		`2:11: jobs[0].name: tag !env is not known; remove it`,
	}},
	{"unknown key at the top", "job: []\n" + good, []string{
		`1:1: job: unknown key; did you mean "jobs"?`,
	}},
	{"unknown key far from any", "colour: red\n" + good, []string{
		`1:1: colour: unknown key; known are nats, clickhouse, setup, data, http, lease, recon, retention, tracing, jobs`,
	}},
	{"unknown key with blanks", "\"two words\": 1\n" + good, []string{
		`1:1: "two words": unknown key; known are nats, clickhouse, setup, data, http, lease, recon, retention, tracing, jobs`,
	}},
	{"duplicate key", good + "data: a\nhttp: {}\ndata: b\n", []string{
		`13:1: data: given twice, first on line 11; keep one`,
	}},
	{"list as key", "[a, b]: c\n" + good, []string{
		`1:1: a key must be a single value, is a list; write key: value`,
	}},
	{"merge of no mapping", good + "<<: 1\n", []string{
		`11:5: <<: must be a mapping, is a single value; merge an anchor of a mapping, such as <<: *base`,
	}},
	{"anchor within itself", "jobs: &a\n  - *a\n", []string{
		`1:7: jobs[0]: must be a mapping, is a list; begin with name:`,
	}},
}

var wrongJob = []wrong{
	{"no jobs", "data: x\n", []string{
		`1:1: jobs: missing; list at least one job`,
	}},
	{"jobs without value", "jobs:\n", []string{
		`1:6: jobs: has no value; write jobs: and below it one - name: … a job`,
	}},
	{"jobs empty", "jobs: []\n", []string{
		`1:7: jobs: lists no job; list at least one`,
	}},
	{"jobs a mapping", "jobs: { name: a }\n", []string{
		`1:7: jobs: must be a list, is a mapping; write jobs: and below it one - name: … a job`,
	}},
	{"job a word", "jobs: [wechat]\n", []string{
		`1:8: jobs[0]: must be a mapping, is a single value; begin with name:`,
	}},
	{"job empty", "jobs: [{}]\n", []string{
		`1:8: jobs[0].name: missing; name the job`,
		`1:8: jobs[0].timezone: missing; name the zone of the business days, such as Asia/Shanghai`,
		`1:8: jobs[0].start: missing; give the first business day as YYYY-MM-DD`,
		`1:8: jobs[0].due: missing; say when a day may be reconciled, such as due: { after: 1, at: "01:00" }`,
		`1:8: jobs[0].ledger: missing; say where the entries come from: csv, parquet, xlsx, query or bill`,
		`1:8: jobs[0].channel: missing; say where the entries come from: csv, parquet, xlsx, query or bill`,
	}},
	{"misspelt key that is needed", replace(good, "timezone:", "time_zon:"), []string{
		`3:5: jobs[0].time_zon: unknown key; did you mean "timezone"?`,
	}},
	{"job name", replace(good, "name: shop", "name: We_Chat"), []string{
		`2:11: jobs[0].name: "We_Chat" is not a job name; use 1 to 63 small letters, digits and hyphens, the first a letter or digit`,
	}},
	{"job name empty", replace(good, "name: shop", `name: ""`), []string{
		`2:11: jobs[0].name: "" is not a job name; use 1 to 63 small letters, digits and hyphens, the first a letter or digit`,
	}},
	{"job name twice", good + replace(good, "jobs:\n", ""), []string{
		`11:11: jobs[1].name: job "shop" is there already, on line 2; give each job a name of its own`,
	}},
	{"zone unknown", replace(good, "Asia/Shanghai", "Asia/Pudong"), []string{
		`3:15: jobs[0].timezone: unknown time zone "Asia/Pudong"; name an IANA zone such as Asia/Shanghai or UTC`,
	}},
	{"zone of the machine", replace(good, "Asia/Shanghai", "Local"), []string{
		`3:15: jobs[0].timezone: time zone "Local" differs from machine to machine; name an IANA zone such as Asia/Shanghai or UTC`,
	}},
	{"start no date", replace(good, "2026-10-01", "01.10.2026"), []string{
		`4:12: jobs[0].start: "01.10.2026" is not a calendar date between 1970-01-01 and 2149-06-06; write it as YYYY-MM-DD`,
	}},
	{"start impossible", replace(good, "2026-10-01", "2026-11-31"), []string{
		`4:12: jobs[0].start: "2026-11-31" is not a calendar date between 1970-01-01 and 2149-06-06; write it as YYYY-MM-DD`,
	}},
	{"due missing keys", replace(good, `{ after: 1, at: "01:00" }`, `{}`), []string{
		`5:10: jobs[0].due.after: missing; give the number of days after the business day`,
		`5:10: jobs[0].due.at: missing; give the time of day in the job's zone, such as "01:00"`,
	}},
	{"due a word", replace(good, `{ after: 1, at: "01:00" }`, `01:00`), []string{
		`5:10: jobs[0].due: must be a mapping, is a single value; write due: { after: 1, at: "01:00" }`,
	}},
	{"due before the day ends", replace(good, `after: 1`, `after: 0`), []string{
		`5:10: jobs[0].due: a day would be due before it has ended; raise after, or set at to the cutoff or later`,
	}},
	{"the same file every day", replace(good, `ledger/{date}.csv`, `ledger/all.csv`), []string{
		`7:12: jobs[0].ledger.csv: every business day would read the same input; put {date} into the path, or {date:Date}, {from:DateTime64(3)} and {to:DateTime64(3)} into the query`,
	}},
	{"both sides the same", replace(good, `bills/{date}.csv`, `ledger/{date}.csv`), []string{
		`9:7: jobs[0].channel: reads the same input as ledger, in the same way; name the provider's bill: books agree with themselves every day`,
	}},
	{"due after a fraction", replace(good, `after: 1`, `after: 1.5`), []string{
		`5:19: jobs[0].due.after: "1.5" is not a whole number between 0 and 366; write plain digits in that range`,
	}},
	{"due after octal", replace(good, `after: 1`, `after: 010`), []string{
		`5:19: jobs[0].due.after: "010" is not a whole number between 0 and 366; write plain digits in that range`,
	}},
	{"due at short", replace(good, `"01:00"`, `1:00`), []string{
		`5:26: jobs[0].due.at: "1:00" is not a time of day; write it as HH:MM or HH:MM:SS, 00:00 to 23:59:59`,
	}},
	{"due at midnight at the end", replace(good, `"01:00"`, `24:00`), []string{
		`5:26: jobs[0].due.at: "24:00" is not a time of day; write it as HH:MM or HH:MM:SS, 00:00 to 23:59:59`,
	}},
	{"patience without unit", replace(good, `"01:00"`, `"01:00", patience: 10`), []string{
		`5:45: jobs[0].due.patience: "10" is not a duration; write a number with its unit, such as 30s, 10m, 10h or 2d`,
	}},
	{"patience zero", replace(good, `"01:00"`, `"01:00", patience: 0s`), []string{
		`5:45: jobs[0].due.patience: "0s" is too short; at least 1s is needed`,
	}},
	{"cutoff", with(`cutoff: noon`), []string{
		`10:13: jobs[0].cutoff: "noon" is not a time of day; write it as HH:MM or HH:MM:SS, 00:00 to 23:59:59`,
	}},
	{"order", with(`order: strikt`), []string{
		`10:12: jobs[0].order: "strikt" is not known; did you mean "strict"?`,
	}},
	{"order a list", with(`order: [strict]`), []string{
		`10:12: jobs[0].order: must be a single value, is a list; give it one, or remove the key`,
	}},
	{"calendar word", with(`calendar: workdays`), []string{
		`10:15: jobs[0].calendar: calendar "workdays" is not known; write daily, weekdays, or { weekdays: [mon, …], holidays: [2026-10-01, …] }`,
	}},
	{"calendar null", with(`calendar:`), []string{
		`10:14: jobs[0].calendar: has no value; write daily, weekdays, or { weekdays: [mon, …], holidays: [2026-10-01, …] }`,
	}},
	{"calendar a list", with(`calendar: [mon]`), []string{
		`10:15: jobs[0].calendar: must be a single value, is a list; write daily, weekdays, or { weekdays: [mon, …], holidays: [2026-10-01, …] }`,
	}},
	{"calendar weekdays and holidays", with(`calendar: { weekdays: [mon, mo, mon], holidays: [2026-02-29, 2026-10-01, 2026-10-01] }`), []string{
		`10:33: jobs[0].calendar.weekdays[1]: "mo" is not a weekday; write mon, tue, wed, thu, fri, sat or sun`,
		`10:37: jobs[0].calendar.weekdays[2]: "mon" is listed twice; remove one`,
		`10:54: jobs[0].calendar.holidays[0]: "2026-02-29" is not a calendar date between 1970-01-01 and 2149-06-06; write it as YYYY-MM-DD`,
		`10:78: jobs[0].calendar.holidays[2]: "2026-10-01" is listed twice; remove one`,
	}},
	{"calendar without weekdays", with(`calendar: { holidays: [2026-10-01] }`), []string{
		`10:15: jobs[0].calendar.weekdays: missing; list the weekdays, such as [mon, tue, wed, thu, fri]`,
	}},
	{"calendar without days", with(`calendar: { weekdays: [] }`), []string{
		`10:15: jobs[0].calendar: the calendar has no business day; list at least one weekday that is not always a holiday`,
	}},
	{"backfill", with(`backfill: { max_days: 0 }`), []string{
		`10:27: jobs[0].backfill.max_days: "0" is not a whole number between 1 and 3660; write plain digits in that range`,
	}},
	{"backfill key", with(`backfill: { maxDays: 3 }`), []string{
		`10:17: jobs[0].backfill.maxDays: unknown key; did you mean "max_days"?`,
	}},
	{"carry", with(`carry: { days: three }`), []string{
		`10:20: jobs[0].carry.days: "three" is not a whole number between 0 and 366; write plain digits in that range`,
	}},
	{"carry a number", with(`carry: 3`), []string{
		`10:12: jobs[0].carry: must be a mapping, is a single value; write carry: { days: 3 }`,
	}},
	{"audit", with(`audit: { every: 0s, count: -1, amount: "0" }`), []string{
		`10:21: jobs[0].audit.every: "0s" is too short; at least 1s is needed`,
		`10:32: jobs[0].audit.count: "-1" is not a whole number between 0 and 1073741824; write plain digits in that range`,
		`10:44: jobs[0].audit.amount: must be a mapping, is a single value; write it per currency, such as { default: "0", CNY: "0.01" }`,
	}},
	{"tolerance", with(`match: { tolerance: { default: 1e2, CNY: -0.01, cny: 1, usd dollar: 1, JPY: 0.123456789, EUR: "1,00" } }`), []string{
		`10:36: jobs[0].match.tolerance.default: amount "1e2": only digits and one decimal point are allowed; write an exact decimal such as "0.01"`,
		`10:46: jobs[0].match.tolerance.CNY: amount "-0.01" is negative; a difference is accepted in both directions: remove the sign`,
		`10:53: jobs[0].match.tolerance.cny: "cny" is not a currency code; write CNY, or default for every other currency`,
		`10:61: jobs[0].match.tolerance."usd dollar": "usd dollar" is not a currency code; write a code such as CNY, or default for every other currency`,
		`10:81: jobs[0].match.tolerance.JPY: amount "0.123456789": more than 8 fractional digits; write an exact decimal such as "0.01"`,
		`10:99: jobs[0].match.tolerance.EUR: amount "1,00": only digits and one decimal point are allowed; write an exact decimal such as "0.01"`,
	}},
	{"mode", with(`match: { mode: two }`), []string{
		`10:20: jobs[0].match.mode: "two" is not known; known are one, sum`,
	}},
}

var wrongBooks = []wrong{
	{"no source", replace(good, "csv: { path: \"ledger/{date}.csv\", columns: { key: no, amount: a, currency: =CNY } }", "{}"), []string{
		`7:7: jobs[0].ledger: names no source; write csv:, parquet:, xlsx:, query: or bill: below it`,
	}},
	{"two kinds", replace(good, "    channel:\n", "      query: { sql: SELECT 1, columns: { key: no, amount: a, currency: =CNY } }\n    channel:\n"), []string{
		`7:7: jobs[0].ledger: names more than one kind of source: csv, query; keep one`,
	}},
	{"unknown kind", replace(good, "    channel:\n      csv:", "    channel:\n      cvs:"), []string{
		`9:7: jobs[0].channel.cvs: unknown key; did you mean "csv"?`,
	}},
	{"bill", replace(good, `csv: { path: "bills/{date}.csv", columns: { key: no, amount: a, currency: =CNY } }`, `bill: { format: alipay-trad, types: [], skip: 1 }`), []string{
		`9:13: jobs[0].channel.bill.path: missing; name the file of a day, such as "bills/{date:20060102}.csv.gz"`,
		`9:23: jobs[0].channel.bill.format: "alipay-trad" is not known; did you mean "alipay-trade"?`,
		`9:43: jobs[0].channel.bill.types: names no type of row; name at least one, or remove the key for all`,
		`9:47: jobs[0].channel.bill.skip: unknown key; known are format, path, entry, types, zone`,
	}},
	{"csv options", replace(good, `"ledger/{date}.csv",`, `"ledger/{date}.csv", encoding: utf8, delimiter: ";;", quote: "", skip: -1, zone: Mars, time_format: nice,`), []string{
		`7:51: jobs[0].ledger.csv.encoding: "utf8" is not known; did you mean "utf-8"?`,
		`7:68: jobs[0].ledger.csv.delimiter: ";;" is not one character; write one character, such as ";", or tab`,
		`7:81: jobs[0].ledger.csv.quote: "" is not one character; write one character, or none`,
		`7:91: jobs[0].ledger.csv.skip: "-1" is not a whole number between 0 and 1000; write plain digits in that range`,
		`7:101: jobs[0].ledger.csv.zone: unknown time zone "Mars"; name an IANA zone such as Asia/Shanghai or UTC`,
		`7:120: jobs[0].ledger.csv.time_format: "nice" is not a time format; want unix, unix_ms or a Go layout that holds year, month and day, such as 2006-01-02 15:04:05`,
	}},
	{"delimiter is quote", replace(good, `"ledger/{date}.csv",`, `"ledger/{date}.csv", delimiter: "'", quote: "'",`), []string{
		`7:12: jobs[0].ledger.csv: delimiter and quote are the same character; give them different ones, or set quote: none`,
	}},
	{"path placeholders", replace(good, `"ledger/{date}.csv"`, `"ledger/{date:YYYYMMDD}.csv"`, `"bills/{date}.csv"`, `"bills/{date.csv"`), []string{
		`7:20: jobs[0].ledger.csv.path: {date:YYYYMMDD} is no layout of a date; write {date} or, in Go's layout, {date:20060102}`,
		`9:20: jobs[0].channel.csv.path: "bills/{date.csv" has a brace without its other half; write {date} or, in Go's layout, {date:20060102}`,
	}},
	{"path pattern", replace(good, `"ledger/{date}.csv"`, `"ledger/[{date}.csv"`, `path: "bills/{date}.csv"`, `path: " "`), []string{
		`7:20: jobs[0].ledger.csv.path: "ledger/[{date}.csv" is not a valid pattern; close the bracket, or write \[ for the character itself`,
		`9:20: jobs[0].channel.csv.path: is empty; give it a value, or remove the key`,
	}},
	{"query without sql", replace(good, `csv: { path: "bills/{date}.csv", `, `query: { sql: " ", `), []string{
		`9:21: jobs[0].channel.query.sql: is empty; write one SELECT`,
	}},
	{"parquet without path", replace(good, `csv: { path: "bills/{date}.csv", `, `parquet: { `), []string{
		`9:16: jobs[0].channel.parquet.path: missing; name the file of a day, such as "ledger/{date}.parquet"`,
	}},
	{"no columns", replace(good, `, columns: { key: no, amount: a, currency: =CNY }`, ``), []string{
		`7:12: jobs[0].ledger.csv.columns: missing; say which column is which, such as { key: order_no, amount: amount, currency: =CNY }`,
		`9:12: jobs[0].channel.csv.columns: missing; say which column is which, such as { key: order_no, amount: amount, currency: =CNY }`,
	}},
	{"columns missing", replace(good, `amount: a, currency: =CNY`, `fee: f`), []string{
		`7:50: jobs[0].ledger.csv.columns.amount: missing; name the column of the amount`,
		`7:50: jobs[0].ledger.csv.columns.currency: missing; name its column, or write a fixed one such as currency: =CNY`,
		`9:49: jobs[0].channel.csv.columns.amount: missing; name the column of the amount`,
		`9:49: jobs[0].channel.csv.columns.currency: missing; name its column, or write a fixed one such as currency: =CNY`,
	}},
	{"columns misspelt", replace(good, `amount: a, currency: =CNY`, `ammount: a, curency: =CNY, occured_at: t`), []string{
		`7:61: jobs[0].ledger.csv.columns.ammount: column "ammount" looks like a misspelt "amount"; write amount, or give the attribute another name`,
		`7:73: jobs[0].ledger.csv.columns.curency: column "curency" looks like a misspelt "currency"; write currency, or give the attribute another name`,
		`7:88: jobs[0].ledger.csv.columns.occured_at: column "occured_at" looks like a misspelt "occurred_at"; write occurred_at, or give the attribute another name`,
		`9:60: jobs[0].channel.csv.columns.ammount: column "ammount" looks like a misspelt "amount"; write amount, or give the attribute another name`,
		`9:72: jobs[0].channel.csv.columns.curency: column "curency" looks like a misspelt "currency"; write currency, or give the attribute another name`,
		`9:87: jobs[0].channel.csv.columns.occured_at: column "occured_at" looks like a misspelt "occurred_at"; write occurred_at, or give the attribute another name`,
	}},
	{"columns fixed", replace(good, `{ key: no, amount: a, currency: =CNY }`, `{ key: =1, amount: "=1,0", currency: "=" }`), []string{
		`7:57: jobs[0].ledger.csv.columns.key: cannot be the same for every entry; name the header of the column`,
		`7:69: jobs[0].ledger.csv.columns.amount: cannot be the same for every entry; name the header of the column`,
		`7:87: jobs[0].ledger.csv.columns.currency: the fixed value is empty; write it after the =, such as =CNY`,
		`9:56: jobs[0].channel.csv.columns.key: cannot be the same for every entry; name the header of the column`,
		`9:68: jobs[0].channel.csv.columns.amount: cannot be the same for every entry; name the header of the column`,
		`9:86: jobs[0].channel.csv.columns.currency: the fixed value is empty; write it after the =, such as =CNY`,
	}},
	{"columns wrong types", replace(good, `{ key: no, amount: a, currency: =CNY }`, `{ key: [no], amount: , currency: "" }`), []string{
		`7:57: jobs[0].ledger.csv.columns.key: must be a single value, is a list; give it one, or remove the key`,
		`7:71: jobs[0].ledger.csv.columns.amount: has no value; give it one, or remove the key`,
		`7:83: jobs[0].ledger.csv.columns.currency: is empty; name the header of the column, or remove the key`,
		`9:56: jobs[0].channel.csv.columns.key: must be a single value, is a list; give it one, or remove the key`,
		`9:70: jobs[0].channel.csv.columns.amount: has no value; give it one, or remove the key`,
		`9:82: jobs[0].channel.csv.columns.currency: is empty; name the header of the column, or remove the key`,
	}},
	{"no key column", replace(good, `"bills/{date}.csv", columns: { key: no,`, `"bills/{date}.csv", columns: { order: no,`), []string{
		`9:7: jobs[0].channel: columns has no key, by which entries are matched; add key to columns, or name other columns in match.key`,
	}},
	{"match key unknown", with(`match: { key: [key, tipe], compare: [status] }`), []string{
		`10:25: jobs[0].match.key[1]: neither side has a column "tipe"; known are amount, currency, key`,
		`10:42: jobs[0].match.compare[0]: neither side has a column "status"; known are amount, currency, key`,
	}},
	{"match key of one side", replace(with(`match: { key: [type] }`), `"ledger/{date}.csv", columns: { key: no`, `"ledger/{date}.csv", columns: { type: ty`), []string{
		`10:20: jobs[0].match.key[0]: channel has no column "type"; add it to channel's columns, or remove it here`,
	}},
	{"match key near", replace(with(`match: { key: [ordr] }`), `key: no`, `order: no`), []string{
		`10:20: jobs[0].match.key[0]: neither side has a column "ordr"; did you mean "order"?`,
	}},
	{"match key empty", with(`match: { key: [] }`), []string{
		`10:19: jobs[0].match.key: names no column; name at least one, or remove the key`,
	}},
	{"match key a word", with(`match: { key: key }`), []string{
		`10:19: jobs[0].match.key: must be a list, is a single value; write a list, such as [a, b]`,
	}},
	{"match key twice", with(`match: { key: [key, key] }`), []string{
		`10:25: jobs[0].match.key[1]: "key" is listed twice; remove one`,
	}},
	{"match key of money", with(`match: { key: [key, amount, occurred_at] }`), []string{
		`10:25: jobs[0].match.key[1]: amount cannot be part of the match key; name columns whose text is the same on both sides`,
		`10:33: jobs[0].match.key[2]: occurred_at cannot be part of the match key; name columns whose text is the same on both sides`,
	}},
	{"query no select", replace(good, `csv: { path: "bills/{date}.csv", `, `query: { sql: "DROP TABLE a", `), []string{
		`9:21: jobs[0].channel.query.sql: the statement begins with DROP; only SELECT, or WITH … SELECT, may be run`,
	}},
	{"path and time_format", replace(good, `"ledger/{date}.csv",`, `"ledger/{date:2006 15}.csv", time_format: 2006-01-02 MST,`), []string{
		`7:20: jobs[0].ledger.csv.path: {date:2006 15} is no layout of a date; write {date} or, in Go's layout, {date:20060102}`,
		`7:62: jobs[0].ledger.csv.time_format: "2006-01-02 MST" is not a time format; zone names such as MST say no offset that can be relied on; leave the instant without one and set zone`,
	}},
	{"compare amount", with(`match: { compare: [amount] }`), []string{
		`10:24: jobs[0].match.compare[0]: amount is always compared, by its value; remove it`,
	}},
	{"compare in mode sum", with(`match: { mode: sum, compare: [key] }`), []string{
		`10:34: jobs[0].match.compare: columns are compared only in mode one; remove compare, or set mode: one`,
	}},
	{"status map without status", with(`status_map: { ledger: { PAID: [success] }, chanel: {} }`), []string{
		`10:27: jobs[0].status_map.ledger: ledger has no column "status"; add status to its columns, or remove the map`,
		`10:35: jobs[0].status_map.ledger.PAID: must be a single value, is a list; give it one, or remove the key`,
		`10:48: jobs[0].status_map.chanel: unknown key; did you mean "channel"?`,
	}},
}

var wrongEngines = []wrong{
	{"nats url", "nats: { url: nats }\n" + good, []string{
		`1:14: nats.url: is neither embedded nor a URL; write embedded or nats://…, tls://…`,
	}},
	{"nats url without host", "nats: { url: \"nats://a:4222,nats://\" }\n" + good, []string{
		`1:14: nats.url: is not a whole URL; write nats://host:port`,
	}},
	{"nats users twice", "nats: { url: \"nats://u:secret@a\", user: u, password_file: p }\n" + good, []string{
		`1:41: nats.user: a user in url is given too; keep one of them`,
	}},
	{"nats bad url with password", "nats: { url: \"nats://u:secret@a:1:2\" }\n" + good, []string{
		`1:14: nats.url: is not a whole URL; write nats://host:port`,
	}},
	{"clickhouse tls", "clickhouse: { url: \"http://u:secret@a\", user: u, tls: { ca: c } }\n" + good, []string{
		`1:47: clickhouse.user: a user in url is given too; keep one of them`,
		`1:55: clickhouse.tls: http:// is not encrypted; write https:// in url, or remove tls`,
	}},
	{"tls empty", "clickhouse: { url: \"https://a\", tls: [] }\n" + good, []string{
		`1:38: clickhouse.tls: must be a mapping, is a list; write tls: { ca: ca.pem }, with cert and key for a client certificate`,
	}},
	{"nats keys of an external server", "nats: { creds: a, replicas: 3 }\n" + good, []string{
		`1:16: nats.creds: only an external server has it, and url is embedded; set url, or remove the key`,
		`1:29: nats.replicas: the embedded server is one server and keeps one copy; remove replicas, or set url`,
	}},
	{"nats replicas", "nats: { url: \"nats://a\", replicas: 2 }\n" + good, []string{
		`1:36: nats.replicas: must be 1, 3 or 5; write one of them`,
	}},
	{"nats credentials", "nats: { url: \"nats://a\", user: u, creds: c, tls: { cert: c }, tls_first: yes }\n" + good, []string{
		`1:32: nats.user: is given without password_file; add password_file`,
		`1:32: nats.user: creds is given too; keep one of them`,
		`1:58: nats.tls.cert: is given without key; add key`,
		`1:74: nats.tls_first: "yes" is neither true nor false; write true or false`,
	}},
	{"clickhouse url", "clickhouse: { url: \"clickhouses://a\" }\n" + good, []string{
		`1:20: clickhouse.url: scheme clickhouses is not known; write clickhouse://…?secure=true`,
	}},
	{"clickhouse port", "clickhouse: { url: \"http://a:99999\" }\n" + good, []string{
		`1:20: clickhouse.url: port 99999 does not exist; write a port between 1 and 65535`,
	}},
	{"clickhouse names", "clickhouse: { url: \"http://a\", database: my-db, cluster: \"x'y\", password_file: p }\n" + good, []string{
		`1:42: clickhouse.database: "my-db" is not a name; use letters, digits and underscores, the first no digit`,
		`1:58: clickhouse.cluster: "x'y" is not a name; use letters, digits and underscores, the first no digit`,
		`1:80: clickhouse.password_file: is given without user; add user`,
	}},
	{"clickhouse keys of an external server", "clickhouse: { user: u }\n" + good, []string{
		`1:21: clickhouse.user: only an external server has it, and url is embedded; set url, or remove the key`,
	}},
	{"clickhouse user twice", "clickhouse: { url: \"clickhouse://a:9000\", user: u, user_file: f }\n" + good, []string{
		`1:63: clickhouse.user_file: user is given too; keep one of them`,
	}},
	{"setup word", "setup: admin\n" + good, []string{
		`1:8: setup: "admin" is not known; write self (every process lays out what is missing) or init (only daybreak init does)`,
	}},
	{"setup of embedded engines", "setup: init\n" + good, []string{
		`1:8: setup: the embedded engines are laid out by the process that runs them; remove setup, or set nats.url and clickhouse.url`,
	}},
	{"nats inbox", "nats: { url: \"nats://a\", inbox_prefix: _INBOX.> }\n" + good, []string{
		`1:40: nats.inbox_prefix: "_INBOX.>" cannot begin a subject; use letters, digits, _ and -, such as _INBOX_recon`,
	}},
	{"clickhouse null", "clickhouse:\n" + good, []string{
		`1:12: clickhouse: has no value; write clickhouse: { url: embedded }`,
	}},
	{"listen", "http: { listen: 7070 }\n" + good, []string{
		`1:17: http.listen: "7070" is not an address to listen on; write host:port, such as 127.0.0.1:7070 or :7070`,
	}},
	{"listen port", "http: { listen: \"localhost:http\" }\n" + good, []string{
		`1:17: http.listen: "localhost:http" is not an address to listen on; write host:port, such as 127.0.0.1:7070 or :7070`,
	}},
	{"lease short", "lease: { ttl: 2s }\n" + good, []string{
		`1:15: lease.ttl: "2s" is too short; at least 3s is needed`,
	}},
	{"lease fraction", "lease: { ttl: 3500ms }\n" + good, []string{
		`1:15: lease.ttl: "3500ms" is not a number of whole seconds; write whole seconds, such as 30s`,
	}},
	{"recon", "recon: { workers: 0 }\n" + good, []string{
		`1:19: recon.workers: "0" is not a whole number between 1 and 256; write plain digits in that range`,
	}},
	{"tracing", "tracing: { endpoint: \"localhost:4318\" }\n" + good, []string{
		`1:22: tracing.endpoint: "localhost:4318" is not the address of a collector; write http://host:port or https://host:port, such as http://127.0.0.1:4318`,
	}},
	{"retention", "retention: { grace: 1s }\n" + good, []string{
		`1:21: retention.grace: "1s" is too short; at least 1m0s is needed`,
	}},
}
