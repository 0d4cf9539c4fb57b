package consumer

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/text"
)

// answers are what a server sent in place of a file.
func answers() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  "a workbook that Excel saved as XML or as a web page",
			Advice: "open it and save it as CSV (UTF-8), or ask for the bill as text",
			Fits: func(h bill.Head) bool {
				return begins(h, "<") && (strings.Contains(h.Text, "urn:schemas-microsoft-com:office:") || strings.Contains(h.Text, `progid="Excel.Sheet"`))
			},
		},
		{
			Title:   "a web page",
			Advice:  "the download did not yield the bill: a login, an expired link or an error page was saved in its place; download again and look at the first lines of the file",
			Fits:    isPage,
			Explain: pageTitle,
		},
		{
			Title:   "an error document in XML",
			Advice:  "the request for the bill was refused: mend what it says and ask again; only answers that say in so many words that there is no bill stand for an empty day",
			Fits:    func(h bill.Head) bool { code, message := xmlError(h); return code != "" || message != "" },
			Explain: func(h bill.Head) string { return quoted(xmlError(h)) },
		},
		{
			Title:   "an error document in JSON",
			Advice:  "the request for the bill was refused: mend what it says and ask again; only answers that say in so many words that there is no bill stand for an empty day",
			Fits:    func(h bill.Head) bool { code, message := jsonError(h); return code != "" && message != "" },
			Explain: func(h bill.Head) string { return quoted(jsonError(h)) },
		},
	}
}

func quoted(code, message string) string {
	var parts []string
	if code != "" {
		parts = append(parts, fmt.Sprintf("code %q", text.Clip(code, 60)))
	}
	if message != "" {
		parts = append(parts, fmt.Sprintf("message %q", text.Clip(message, 160)))
	}
	return strings.Join(parts, ", ")
}

var htmlTags = regexp.MustCompile(`(?i)<(?:html|head|body|table|script|title)[\s>]`)

func isPage(h bill.Head) bool {
	return begins(h, "<!doctype html", "<html") || begins(h, "<") && !begins(h, "<?xml") && htmlTags.MatchString(firstKB(h.Text)) ||
		begins(h, "<?xml") && strings.Contains(firstKB(h.Text), "www.w3.org/1999/xhtml")
}

func firstKB(s string) string { return s[:min(len(s), 1024)] }

var pageTitles = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

func pageTitle(h bill.Head) string {
	found := pageTitles.FindStringSubmatch(h.Text)
	if found == nil {
		return ""
	}
	words := strings.Join(strings.Fields(html.UnescapeString(found[1])), " ")
	if words == "" {
		return ""
	}
	return fmt.Sprintf("title %q", text.Clip(words, 100))
}

const cdata = `\s*(?:<!\[CDATA\[)?([^<\]]*?)(?:\]\]>)?\s*</`

var (
	xmlCodes    = regexp.MustCompile(`(?i)<(?:\w+:)?(?:sub_?code|error_?code|err_?code|code|faultcode|return_code)>` + cdata)
	xmlMessages = regexp.MustCompile(`(?i)<(?:\w+:)?(?:sub_?msg|error_?message|error_?msg|err_code_des|message|msg|faultstring|return_msg|error_?description)>` + cdata)
)

// xmlError finds code and message of a short document in XML. A statement may hold such elements deep inside, but not
// among its first few.
func xmlError(h bill.Head) (code, message string) {
	if !begins(h, "<") || isPage(h) || len(h.Raw) > answerByteMax || strings.Contains(h.Text, "urn:iso:std:iso:20022") {
		return "", ""
	}
	begin := firstKB(h.Text)
	if found := xmlCodes.FindStringSubmatch(begin); found != nil {
		code = html.UnescapeString(found[1])
	}
	if found := xmlMessages.FindStringSubmatch(begin); found != nil {
		message = html.UnescapeString(found[1])
	}
	if code == "" && message == "" {
		return "", ""
	}
	return strings.TrimSpace(code), strings.TrimSpace(message)
}

// An error has a code and a message, or a weak code, which other objects have too, and a word that no other object has.
var (
	jsonCodes        = []string{"sub_code", "error_code", "errorCode", "err_code", "code", "error"}
	jsonWeakCodes    = []string{"name", "errorType", "type", "status"}
	jsonMessages     = []string{"sub_msg", "message", "msg", "error_description", "errorMessage", "error_msg", "description", "detail", "title"}
	jsonPlainerWords = []string{"message", "errorMessage", "error_msg", "error", "detail"}
)

// jsonError finds code and message of a short document in JSON: in its object, or in one that lies directly in it. A
// document that lists objects is a bill, or meant to be one.
func jsonError(h bill.Head) (code, message string) {
	var top map[string]json.RawMessage
	if !begins(h, "{") || len(h.Raw) > answerByteMax || json.Unmarshal([]byte(h.Text), &top) != nil {
		return "", ""
	}
	if code, message = codeAndMessage(top); code != "" && message != "" {
		return code, message
	}
	var names []string
	for name := range top {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var inner map[string]json.RawMessage
		var list []map[string]json.RawMessage
		if strings.EqualFold(name, "errors") && json.Unmarshal(top[name], &list) == nil && len(list) > 0 {
			inner = list[0]
		} else if json.Unmarshal(top[name], &inner) != nil {
			continue
		}
		if code, message = codeAndMessage(inner); code != "" && message != "" {
			return code, message
		}
	}
	return "", ""
}

func codeAndMessage(of map[string]json.RawMessage) (code, message string) {
	for name, v := range of {
		var list []map[string]json.RawMessage
		if json.Unmarshal(v, &list) == nil && len(list) > 0 && !slices.Contains([]string{"details", "errors", "links", "cause"}, name) {
			return "", ""
		}
	}
	code, message = scalar(of, jsonCodes), scalar(of, jsonMessages)
	if code == "" || message == "" {
		code, message = scalar(of, jsonWeakCodes), scalar(of, jsonPlainerWords)
	}
	return code, message
}

// scalar is the first of the members that holds text or a number.
func scalar(of map[string]json.RawMessage, names []string) string {
	for _, name := range names {
		var s string
		var n json.Number
		if json.Unmarshal(of[name], &s) == nil && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
		if json.Unmarshal(of[name], &n) == nil && n != "" {
			return n.String()
		}
	}
	return ""
}
