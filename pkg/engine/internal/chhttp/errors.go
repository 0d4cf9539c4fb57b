package chhttp

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// exception is an error as the server words it.
type exception struct {
	code int
	msg  string
	name string
}

func (e *exception) Error() string {
	return fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", e.code, e.msg, e.name)
}

var codeRe = regexp.MustCompile(`Code:\s*(\d+)\.`)

// wire gives the code and the one text that the client parses.
func wire(err error, version string) (code int, text string) {
	text = strings.TrimRight(err.Error(), "\r\n ")
	code = 1002
	if m := codeRe.FindStringSubmatchIndex(text); m != nil {
		if n, convErr := strconv.Atoi(text[m[2]:m[3]]); convErr == nil && n > 0 {
			code, text = n, text[m[0]:]
		}
	}
	if !strings.HasPrefix(text, "Code:") {
		text = fmt.Sprintf("Code: %d. DB::Exception: %s. (UNKNOWN_EXCEPTION)", code, text)
	}
	if !strings.Contains(text, "(version ") {
		text += " (version " + version + ")"
	}
	return code, text + "\n"
}

// httpStatus follows the server's table for the codes that matter.
func httpStatus(code int) int {
	switch code {
	case 516, 192, 193, 194:
		return http.StatusUnauthorized
	case 497:
		return http.StatusForbidden
	case 60, 81, 46, 47, 16:
		return http.StatusNotFound
	case 62, 26, 27, 36, 38, 41, 53, 69, 72, 115, 456, 457:
		return http.StatusBadRequest
	case 48:
		return http.StatusNotImplemented
	case 159, 160:
		return http.StatusRequestTimeout
	case 202:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
