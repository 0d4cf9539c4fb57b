package mt940

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"daybreak/pkg/source/text"
)

const remittanceMax = 1000 // characters

// details are what :86: or :NS: tells about a movement.
type details struct {
	endToEnd   string
	codes      map[string]string // /PREF/, KREF+ …
	account    string            // of the other side
	name       string
	remittance string
}

// parseDetails reads the three ways in which banks write :86:: code words between slashes, numbered fields behind a
// three-digit code (?20EREF+…), and plain text. Lines are wrapped anywhere, so structured text is put together as it
// stands; plain text gets a blank where a line is shorter than a full one.
func parseDetails(lines []string, numbered bool) details {
	whole := strings.TrimLeft(strings.Join(lines, ""), " ")
	d := details{codes: map[string]string{}}
	switch {
	case numbered:
		d.remittance = plain(lines)
	case reGVC.MatchString(whole):
		d.german(whole)
	case strings.HasPrefix(whole, "/") && reCode.MatchString(whole):
		d.slashed(whole)
	default:
		d.remittance = plain(lines)
	}
	d.endToEnd = reference(cmp.Or(d.codes["EREF"], d.codes["EREF+"]))
	d.account = strings.ReplaceAll(d.account, " ", "")
	d.remittance = text.Clip(strings.Join(strings.Fields(d.remittance), " "), remittanceMax)
	d.name = text.Clip(strings.Join(strings.Fields(d.name), " "), 140)
	d.account = text.Clip(d.account, 64)
	return d
}

// pointed is the reference in :86: that the customer's reference of :61: only points to.
func (d *details) pointed(customer string) string {
	switch customer {
	case "PREF", "KREF+":
		return reference(d.codes[customer])
	case "KREF":
		return reference(d.codes["KREF+"])
	}
	return ""
}

const fullLine = 61 // characters from which a line is wrapped rather than ended; a full one has 65, or 61 beside its tag

func plain(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l)
		if len([]rune(l)) < fullLine {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

var (
	reGVC     = regexp.MustCompile(`^\d{3}([?<>^~|])\d\d`)
	reKeyword = regexp.MustCompile(`^(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|IBAN|BIC|RREF|ANAM|RETT)\+`)
	// reCode are the code words of Dutch and other banks.
	reCode = regexp.MustCompile(`/(TRTP|EREF|PREF|IREF|KREF|RTRN|MARF|CSID|CNTP|REMI|PURP|ULTB|ULTC|ULTD|EXCH|CHGS|BENM|ORDP|` +
		`NAME|ADDR|ISDT|IBAN|BIC|BUSP|CDTRREFTP|CDTRREF|SVCL|SWOC|OCMT|COAM|TRCD|ID)/`)
)

// german reads fields such as 166?00GUTSCHRIFT?20EREF+A1?21SVWZ+Text?31DE…?32NAME. A keyword begins a field, and its value
// goes on in the next ones up to a field that begins with another.
func (d *details) german(whole string) {
	var purpose wrapped
	keyword := ""
	for part := range strings.SplitSeq(whole[4:], whole[3:4]) {
		if len(part) < 2 || !isDigit(part[0]) || !isDigit(part[1]) {
			part = "  " + whole[3:4] + part // the mark was text: put it back
		}
		switch code, value := part[:2], part[2:]; {
		case code == "31":
			d.account = value
		case code == "38":
			d.account = cmp.Or(firstIBAN(strings.ReplaceAll(value, " ", "")), d.account)
		case code == "32" || code == "33":
			d.name += value
		case code >= "20" && code <= "29" || code >= "60" && code <= "63" || code == "  ":
			if found := reKeyword.FindString(value); found != "" && code != "  " {
				keyword = found
				if d.codes[keyword] != "" {
					keyword = "again" // only the first counts
				}
				d.codes[keyword] += value[len(found):]
			} else {
				d.codes[keyword] += value
			}
			if keyword == "SVWZ+" && !purpose.only {
				purpose = wrapped{only: true}
			}
			if !purpose.only || keyword == "SVWZ+" {
				purpose.add(strings.TrimPrefix(value, "SVWZ+"), len(value))
			}
		}
	}
	d.remittance = purpose.String()
}

// wrapped puts fields of at most 27 characters together: a shorter one ended by itself.
type wrapped struct {
	strings.Builder
	only bool // holds the text behind SVWZ+ and nothing else
}

func (w *wrapped) add(s string, width int) {
	w.WriteString(s)
	if width < 27 {
		w.WriteByte(' ')
	}
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// slashed reads code words such as /EREF/A1//CNTP/NL…/BIC/NAME/CITY/REMI/USTD//Text/. A value ends where the next known
// word begins.
func (d *details) slashed(whole string) {
	for at := reCode.FindStringSubmatchIndex(whole); at != nil; {
		word := whole[at[2]:at[3]]
		whole = whole[at[3]:] // from the slash that ends the word, which may begin the next one: /ORDP/NAME/
		at = reCode.FindStringSubmatchIndex(whole)
		value := whole
		if at != nil {
			value = whole[:at[0]]
		}
		if _, there := d.codes[word]; !there {
			d.codes[word] = strings.Trim(value, "/ ")
		}
	}
	party := strings.Split(d.codes["CNTP"], "/")
	d.account, d.name = cmp.Or(party[0], d.codes["IBAN"]), d.codes["NAME"]
	if len(party) > 2 {
		d.name = party[2]
	}
	d.remittance = strings.TrimPrefix(d.codes["REMI"], "USTD//")
}

// noReference are the words that banks write where there is no reference, or where another field holds it.
var noReference = []string{"NONREF", "NOREF", "NOTPROVIDED", "NOT PROVIDED", "NONE", "EREF", "PREF", "MARF", "KREF", "KREF+", "MREF+", "EREF+", "UNKNOWN"}

// reference is a reference, "" for the words that say there is none, for a lone letter and for nothing but zeros.
func reference(written string) string {
	written = strings.TrimSpace(written)
	letter := len(written) == 1 && !isDigit(written[0])
	if letter || slices.Contains(noReference, strings.ToUpper(written)) || strings.Trim(written, "0-./ ") == "" {
		return ""
	}
	return written
}

// customerReference is the customer's reference; the account of the other side, which some banks put there, is none.
func customerReference(written string) string {
	if isIBAN(written) {
		return ""
	}
	return reference(written)
}

func firstIBAN(of ...string) string {
	for _, s := range of {
		if isIBAN(s) {
			return s
		}
	}
	return ""
}

var reIBAN = regexp.MustCompile(`^[A-Z]{2}\d\d[A-Z0-9]{11,30}$`)

// isIBAN reports whether the check digits say so; creditor references (RF…) are built alike.
func isIBAN(s string) bool {
	if !reIBAN.MatchString(s) || strings.HasPrefix(s, "RF") {
		return false
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1
}
