package boards

// Units of Grafana.
const (
	unitCount   = "short"
	unitNone    = "none"
	unitSeconds = "s"
	unitDate    = "dateTimeAsIso"
	unitBytes   = "bytes"
	unitShare   = "percentunit"
	unitRate    = "cps" // per second
)

var (
	noneIsGood = []step{{colour: "green"}, {1, "red"}}
	fewIsFine  = []step{{colour: "green"}, {1, "yellow"}, {3, "red"}}
	leftIsGood = []step{{colour: "red"}, {0, "yellow"}, {3600, "green"}}
	oneIsGood  = []step{{colour: "red"}, {1, "green"}}
)

// overview is where to look first: all jobs.
func overview() Board {
	return Board{
		Name: "overview", Title: "Daybreak / Overview", From: "now-30d", Refresh: "1m",
		Text: "All jobs: where their business days stand, what is open, and what the auditor found.",
		Panels: []Panel{
			{Name: "standing", Title: "Days that are not DONE", Unit: unitNone, Look: lookStat, W: 8, H: 4, Steps: noneIsGood, Usual: "running|waiting|blocked|skipped",
				Text: "Due business days of the chosen jobs by where they stand, at this moment. Running and waiting days are usual in the morning; failed and missing ones are not."},
			{Name: "unbalanced", Title: "Unbalanced days", Unit: unitNone, Look: lookStat, W: 4, H: 4, Steps: noneIsGood,
				Text: "Days whose stored result does not account for every entry and every unit of money of its sources. Anything but 0 means that a result must not be believed."},
			{Name: "open_findings", Title: "Findings of the auditor", Unit: unitNone, Look: lookStat, W: 4, H: 4, Steps: noneIsGood,
				Text: "Open findings, and those of them that no repair cured, so that a person must look. The table below names job and day."},
			{Name: "lag", Title: "Days behind", Unit: unitNone, Look: lookStat, W: 4, H: 4, Steps: fewIsFine,
				Text: "Business days after the newest that is DONE, up to the newest that is due. 0 is up to date."},
			{Name: "looked", Title: "Last looked at", Unit: unitSeconds, Look: lookStat, W: 4, H: 4, Steps: []step{{colour: "green"}, {3600, "yellow"}, {93600, "red"}},
				Text: "How long ago the auditor last made every check of the job. When this grows, everything else here is old."},
			{Name: "calendar", Title: "Business days", Unit: unitNone, Look: lookCalendar, W: 16, H: 8,
				Text: "One box per job and business day of the range: clean, with open diffs, late (waiting, blocked, missing, stuck), in doubt (the source changed, the result is unbalanced, unpublished or stands on an old pool) or failed. No box: nothing is known of the day, it is not due or no business day."},
			{Name: "deadline", Title: "Time until the next deadline", Unit: unitSeconds, Look: lookStat, W: 8, H: 8, Steps: leftIsGood,
				Text: "Time until the first day that is not DONE has to be: it is due then, and due.patience is over. Negative: overdue. Time alone makes it negative, also when the auditor is gone."},
			{Name: "kinds", Title: "Open diffs per day, by kind", Unit: unitCount, Look: lookBars, W: 12, H: 8,
				Text: "Open diffs of the newest version of every day, by kind. A sudden tall bar is a broken file or rule rather than many broken payments."},
			{Name: "amounts", Title: "Amount that the sides differ by", Unit: unitCount, Look: lookLines, W: 12, H: 8,
				Text: "Sum of abs(ledger − channel) over all open diffs as the auditor showed it over time, each currency on its own. For the shape only: the exact figures are in the table below."},
			{Name: "in_doubt", Title: "Open diffs by currency, exact", Unit: unitNone, Look: lookTable, W: 16, H: 7,
				Text: "Open diffs of the days in the range with the exact money of both sides, and the sum of abs(ledger − channel) over the diffs."},
			{Name: "backlog", Title: "Diffs waiting for a person", Unit: unitCount, Look: lookGauges, W: 8, H: 7,
				Text: "Diffs that a person still owes a word, by days since the business day."},
			{Name: "jobs", Title: "Jobs", Unit: unitNone, Look: lookTable, W: 24, H: 5,
				Text: "What is committed of each job in the range: first and last day, days with open diffs, entries, and how many versions were computed again."},
			{Name: "findings", Title: "Findings", Unit: unitNone, Look: lookTable, W: 24, H: 9,
				Text: "What the auditor found, open ones first: job, day, since when, and what to do. Escalated: no repair cured it, a person must look."},
		},
	}
}
