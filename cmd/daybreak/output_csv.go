package main

import (
	"encoding/csv"
	"strings"
)

func (r *rows) header() error {
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.name
	}
	return r.record(names)
}

func (r *rows) addCSV(cells []cell) error {
	if r.n == 1 {
		if err := r.header(); err != nil {
			return err
		}
	}
	record := make([]string, len(cells))
	for i, c := range cells {
		record[i] = c.text
		if r.columns[i].kind == outside {
			record[i] = harmless(c.text)
		}
	}
	return r.record(record)
}

// record writes into the buffer of r.out: a csv.Writer takes a large enough bufio.Writer as its own.
func (r *rows) record(fields []string) error { return csv.NewWriter(r.out).Write(fields) }

// formulaSigns are what a spreadsheet takes for the beginning of a formula, ASCII and full width.
const formulaSigns = "=+-@\t\r\n＝＋－＠"

// harmless keeps a spreadsheet from taking text from outside for a formula: it puts an apostrophe before it. Text that
// begins with one gets another, so that the text can be had back by taking one apostrophe away.
func harmless(text string) string {
	if text == "" || !strings.ContainsAny(firstRune(text), formulaSigns+"'") {
		return text
	}
	return "'" + text
}

func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}
