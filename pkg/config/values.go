package config

import (
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on what the machine has installed

	"github.com/shopspring/decimal"

	"daybreak/pkg/model"
)

// faultOf turns an error of package model, whose text ends with its sentinel, into a fault.
func faultOf(err, sentinel error, fix string) *fault {
	return &fault{strings.TrimSuffix(err.Error(), ": "+sentinel.Error()), fix}
}

func parseText(text string) (string, *fault) {
	switch {
	case strings.TrimSpace(text) == "":
		return "", &fault{"is empty", "give it a value, or remove the key"}
	case strings.TrimSpace(text) != text:
		return "", &fault{fmt.Sprintf("%q begins or ends with a blank", text), "remove the blank"}
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", &fault{fmt.Sprintf("%q holds a control character", text), "remove it"}
	}
	return text, nil
}

func parseJobName(text string) (string, *fault) {
	if model.CheckJobName(text) != nil {
		return "", &fault{
			fmt.Sprintf("%q is not a job name", text),
			"use 1 to 63 small letters, digits and hyphens, the first a letter or digit",
		}
	}
	return text, nil
}

func parseZone(text string) (*time.Location, *fault) {
	const fix = "name an IANA zone such as Asia/Shanghai or UTC"
	if text == "" || strings.EqualFold(text, "local") {
		return nil, &fault{fmt.Sprintf("time zone %q differs from machine to machine", text), fix}
	}
	zone, err := time.LoadLocation(text)
	if err != nil {
		return nil, &fault{fmt.Sprintf("unknown time zone %q", text), fix}
	}
	return zone, nil
}

func parseDay(text string) (model.Day, *fault) {
	d, err := model.ParseDay(text)
	if err != nil {
		return 0, &fault{
			fmt.Sprintf("%q is not a calendar date between 1970-01-01 and %s", text, model.MaxDay),
			"write it as YYYY-MM-DD",
		}
	}
	return d, nil
}

func parseTimeOfDay(text string) (model.TimeOfDay, *fault) {
	t, err := model.ParseTimeOfDay(text)
	if err != nil {
		return t, &fault{fmt.Sprintf("%q is not a time of day", text), "write it as HH:MM or HH:MM:SS, 00:00 to 23:59:59"}
	}
	return t, nil
}

var wholeDays = regexp.MustCompile(`^([0-9]{1,6})d(.*)$`)

// parseDuration reads Go's syntax, which may begin with whole days of 24 hours: 10m, 1h30m, 2d, 1d12h.
func parseDuration(text string) (time.Duration, *fault) {
	wrong := &fault{fmt.Sprintf("%q is not a duration", text), "write a number with its unit, such as 30s, 10m, 10h or 2d"}
	rest, days := text, 0
	if m := wholeDays.FindStringSubmatch(text); m != nil {
		days, _ = strconv.Atoi(m[1]) // six digits at most
		if rest = m[2]; rest == "" {
			rest = "0s"
		}
	}
	d, err := time.ParseDuration(rest)
	const day = 24 * time.Hour
	if err != nil || rest[0] == '-' || rest[0] == '+' || days > int((math.MaxInt64-d)/day) {
		return 0, wrong
	}
	return time.Duration(days)*day + d, nil
}

// durationFrom reads a duration of at least least.
func durationFrom(least time.Duration) parser[time.Duration] {
	return func(text string) (time.Duration, *fault) {
		d, bad := parseDuration(text)
		if bad == nil && d < least {
			return 0, &fault{fmt.Sprintf("%q is too short", text), fmt.Sprintf("at least %s is needed", least)}
		}
		return d, bad
	}
}

// parseLeaseTTL reads a duration of whole seconds, as the server counts in seconds.
func parseLeaseTTL(text string) (time.Duration, *fault) {
	d, bad := durationFrom(3 * time.Second)(text)
	if bad == nil && d%time.Second != 0 {
		return 0, &fault{fmt.Sprintf("%q is not a number of whole seconds", text), "write whole seconds, such as 30s"}
	}
	return d, bad
}

var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// countFrom reads a whole number between least and most. Signs, underscores, hexadecimal and leading zeros are refused,
// because YAML's versions read them differently.
func countFrom(least, most int) parser[int] {
	return func(text string) (int, *fault) {
		n, err := strconv.Atoi(text)
		if !wholeNumber.MatchString(text) || err != nil || n < least || n > most {
			return 0, &fault{
				fmt.Sprintf("%q is not a whole number between %d and %d", text, least, most),
				"write plain digits in that range",
			}
		}
		return n, nil
	}
}

func parseBool(text string) (bool, *fault) {
	if text != "true" && text != "false" {
		return false, &fault{fmt.Sprintf("%q is neither true nor false", text), "write true or false"}
	}
	return text == "true", nil
}

// parseAccepted reads an amount that is accepted as a difference: exact, and not negative.
func parseAccepted(text string) (decimal.Decimal, *fault) {
	d, err := model.ParseAmount(text)
	if err != nil {
		return d, faultOf(err, model.ErrAmount, `write an exact decimal such as "0.01"`)
	}
	if d.IsNegative() {
		return d, &fault{fmt.Sprintf("amount %q is negative", text), "a difference is accepted in both directions: remove the sign"}
	}
	return d, nil
}

var currencyCode = regexp.MustCompile(`^[A-Z0-9]{3,8}$`)

// parseCurrency reads a currency code as entries bear it. Which codes exist is the sources' to say.
func parseCurrency(text string) (string, *fault) {
	if currencyCode.MatchString(text) {
		return text, nil
	}
	fix := "write a code such as CNY"
	if upper := strings.ToUpper(text); currencyCode.MatchString(upper) {
		fix = "write " + upper
	}
	return "", &fault{fmt.Sprintf("%q is not a currency code", text), fix}
}

// oneOf reads one of a few words.
func oneOf[T ~string](words ...T) parser[T] {
	return func(text string) (T, *fault) {
		if slices.Contains(words, T(text)) {
			return T(text), nil
		}
		known := make([]string, len(words))
		for i, w := range words {
			known[i] = string(w)
		}
		return "", &fault{fmt.Sprintf("%q is not known", text), suggest(text, known)}
	}
}

func parseListen(text string) (string, *fault) {
	wrong := &fault{fmt.Sprintf("%q is not an address to listen on", text), "write host:port, such as 127.0.0.1:7070 or :7070"}
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, " /@") {
		return "", wrong
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return "", wrong
	}
	return text, nil
}

var weekdayNames = map[string]time.Weekday{
	"sun": time.Sunday, "mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday,
	"thu": time.Thursday, "fri": time.Friday, "sat": time.Saturday,
}

// parseWeekday reads mon or monday, in any case.
func parseWeekday(text string) (time.Weekday, *fault) {
	small := strings.ToLower(text)
	for short, day := range weekdayNames {
		if small == short || small == strings.ToLower(day.String()) {
			return day, nil
		}
	}
	return 0, &fault{fmt.Sprintf("%q is not a weekday", text), "write mon, tue, wed, thu, fri, sat or sun"}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// parseIdentifier reads the name of a database or cluster, which stands in SQL.
func parseIdentifier(text string) (string, *fault) {
	if !identifier.MatchString(text) {
		return "", &fault{fmt.Sprintf("%q is not a name", text), "use letters, digits and underscores, the first no digit"}
	}
	return text, nil
}
