package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Embedded is the url of an engine that Daybreak brings itself.
const Embedded = "embedded"

// parseNATSURL reads embedded, or one or several servers of a cluster separated by commas.
func parseNATSURL(text string) (string, *fault) {
	if text == Embedded {
		return text, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		if bad := checkURL(strings.TrimSpace(one), "nats", "tls"); bad != nil {
			return "", bad
		}
	}
	return text, nil
}

// parseClickHouseURL reads embedded, or a URL whose authority may list several servers separated by commas.
func parseClickHouseURL(text string) (string, *fault) {
	if text == Embedded {
		return text, nil
	}
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme == "clickhouses" {
		return "", &fault{"scheme clickhouses is not known", "write clickhouse://…?secure=true"}
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if bad := checkURL(scheme+"://"+host+tail, "clickhouse", "http", "https"); bad != nil {
			return "", bad
		}
	}
	return text, nil
}

// checkURL checks one URL. Messages never repeat it, as people put passwords there.
func checkURL(text string, schemes ...string) *fault {
	examples := "write embedded or " + strings.Join(schemes, "://…, ") + "://…"
	scheme, _, found := strings.Cut(text, "://")
	if !found {
		return &fault{"is neither embedded nor a URL", examples}
	}
	if !slices.Contains(schemes, scheme) {
		return &fault{fmt.Sprintf("scheme %q is not known", scheme), examples}
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Fragment != "" || (strings.Contains(u.Hostname(), ":") && u.Host[0] != '[') {
		return &fault{"is not a whole URL", fmt.Sprintf("write %s://host:port", scheme)}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return &fault{fmt.Sprintf("port %s does not exist", port), "write a port between 1 and 65535"}
		}
	}
	return nil
}

// hasUser reports whether one of the servers of a URL names its user.
func hasUser(text string) bool { return strings.Contains(text, "@") }

// redact returns a URL for logs: without users, passwords and parameters.
func redact(text string) string {
	parts := strings.Split(text, ",")
	for i, one := range parts {
		scheme, rest, found := strings.Cut(one, "://")
		if !found {
			scheme, rest = "", one
		}
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		if tail := strings.IndexAny(rest, "?#"); tail >= 0 {
			rest = rest[:tail]
		}
		if parts[i] = rest; found {
			parts[i] = scheme + "://" + rest
		}
	}
	return strings.Join(parts, ",")
}
