package live

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Chosen is what a reader chose on the dashboard.
type Chosen struct {
	From, To   time.Time
	Jobs       []string
	Currencies []string
}

var macro = regexp.MustCompile(`\$__(\w+)(?:\(([^()]*)\))?`)

// SQL writes out the macros of the ClickHouse plugin and Grafana's variables, as far as the dashboards use them. Anything
// else is an error: the engine must never see a macro that only looks like SQL.
func (c Chosen) SQL(text string) (string, error) {
	var unknown []string
	text = macro.ReplaceAllStringFunc(text, func(m string) string {
		part := macro.FindStringSubmatch(m)
		switch part[1] {
		case "dateFilter":
			return fmt.Sprintf("%s >= toDate('%s') AND %s <= toDate('%s')", part[2], c.From.Format(time.DateOnly), part[2], c.To.Format(time.DateOnly))
		case "timeFilter":
			return fmt.Sprintf("%s >= toDateTime(%d) AND %s <= toDateTime(%d)", part[2], c.From.Unix(), part[2], c.To.Unix())
		case "timeInterval":
			return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL %d second)", part[2], 20)
		}
		unknown = append(unknown, m)
		return m
	})
	text = strings.NewReplacer("${job:singlequote}", quoted(c.Jobs), "${currency:singlequote}", quoted(c.Currencies)).Replace(text)
	if len(unknown) > 0 || strings.Contains(text, "${") || strings.Contains(text, "$__") {
		return "", fmt.Errorf("not expanded: %v in %s", unknown, text)
	}
	return text, nil
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `\'`) + "'"
	}
	return strings.Join(out, ",")
}

// PromQL writes out Grafana's variables in an expression.
func (c Chosen) PromQL(text string) (string, error) {
	text = strings.NewReplacer(
		"$__rate_interval", "1m", "$__range", fmt.Sprintf("%ds", int(c.To.Sub(c.From).Seconds())),
		"$job", alternatives(c.Jobs), "$currency", alternatives(c.Currencies),
	).Replace(text)
	if strings.Contains(text, "$") {
		return "", fmt.Errorf("not expanded: %s", text)
	}
	return text, nil
}

// alternatives is how Grafana writes several values for Prometheus; one stands alone.
func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "(" + strings.Join(words, "|") + ")"
}
