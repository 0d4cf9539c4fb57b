package bill

import (
	"regexp"
	"strings"
)

// noBillCodes are the answers of providers that mean: this day has no bill. They are compared without regard to case,
// because documents and servers differ in it.
//
//   - WeChat Pay v3, JSON: code NO_STATEMENT_EXIST
//   - WeChat Pay v2, XML with return_code FAIL: return_msg or error_code "No Bill Exist" (error_code 20002)
//   - Alipay open API, JSON: sub_code isv.BILL_NOT_EXIST or BILL_NOT_EXIST, and NO_BILL_DATA, which says that the merchant
//     had no business of that kind in the period
var noBillCodes = regexp.MustCompile(`(?i)"(?:code|sub_code)"\s*:\s*"(NO_STATEMENT_EXIST|(?:isv\.)?(?:BILL_NOT_EXIST|NO_BILL_DATA))"` +
	`|<(?:return_msg|err_code_des|error_code|err_code)>\s*(?:<!\[CDATA\[)?\s*(No Bill Exist)\s*(?:\]\]>)?\s*</`)

const answerBytesMax = 16 << 10 // an answer is short; a bill in JSON or XML that holds such words is not one

// NoBill reports whether a document is a provider's answer that there is no bill for the day, with its words. Any other
// error document is not: a wrong request must never pass for an empty day.
func NoBill(h Head) (words string, ok bool) {
	if len(h.Raw) > answerBytesMax || !h.Begins("{") && !h.Begins("<") {
		return "", false
	}
	found := noBillCodes.FindStringSubmatch(h.Text)
	if found == nil {
		return "", false
	}
	return strings.TrimSpace(found[1] + found[2]), true
}
