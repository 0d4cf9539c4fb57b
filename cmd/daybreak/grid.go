package main

import (
	"fmt"
	"strings"

	"daybreak/pkg/model"
)

// gridLetters are what a day looks like in the grid. A day that is not listed is a dot.
var gridLetters = map[string]byte{
	string(model.Done): 'D', string(model.Failed): 'F', string(model.Waiting): 'W', string(model.Blocked): 'B',
	string(model.Running): 'R', missingDay: 'M', skippedDay: 's',
}

const gridLegend = "D done  d done with open diffs  F failed  W waiting  B blocked  R running  M missing  s skipped  . no due day"

const monthDays = 31

// drawGrid draws one line per job and month and one letter per day.
func drawGrid(all []statusRow) string {
	if len(all) == 0 {
		return ""
	}
	type line struct {
		job, month string
		days       [monthDays]byte
	}
	var lines []*line
	width := len("job")
	for _, r := range all {
		year, month, day := r.day.Date()
		name := fmt.Sprintf("%04d-%02d", year, month)
		if n := len(lines); n == 0 || lines[n-1].job != r.job || lines[n-1].month != name {
			l := &line{job: r.job, month: name}
			for i := range l.days {
				l.days[i] = '.'
			}
			lines = append(lines, l)
			width = max(width, len(r.job))
		}
		lines[len(lines)-1].days[day-1] = r.letter()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s  month    %s\n", width, "job", gridHeader())
	for _, l := range lines {
		fmt.Fprintf(&b, "%-*s  %s  %s\n", width, l.job, l.month, inFives(l.days[:]))
	}
	return b.String() + gridLegend
}

func (r statusRow) letter() byte {
	letter, ok := gridLetters[r.text]
	switch {
	case !ok:
		return '?'
	case letter == 'D' && r.batch != nil && r.batch.OpenDiffs() > 0:
		return 'd'
	}
	return letter
}

// gridHeader marks the first day of every group of five.
func gridHeader() string {
	var parts []string
	for day := 1; day <= monthDays; day += 5 {
		parts = append(parts, fmt.Sprintf("%-5d", day))
	}
	return strings.TrimRight(strings.Join(parts, " "), " ")
}

// inFives sets days apart so that they can be counted.
func inFives(days []byte) string {
	var parts []string
	for len(days) > 0 {
		n := min(5, len(days))
		parts = append(parts, string(days[:n]))
		days = days[n:]
	}
	return strings.Join(parts, " ")
}
