package xlsx

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

const (
	textBytesMax    = 1 << 20   // of one cell; Excel has 32767 characters
	stringsBytesMax = 256 << 20 // of all shared texts
	stringsMax      = 16 << 20
)

var errTooLong = fmt.Errorf("a text is longer than %d MiB", textBytesMax>>20)

// shared are the texts that cells name by number, held back to back.
type shared struct {
	all  []byte
	ends []uint32
}

func (s *shared) at(n int) ([]byte, bool) {
	if n < 0 || n >= len(s.ends) {
		return nil, false
	}
	from := uint32(0)
	if n > 0 {
		from = s.ends[n-1]
	}
	return s.all[from:s.ends[n]], true
}

// readShared reads the table of shared texts.
func readShared(s *stream) (*shared, error) {
	out := &shared{}
	if err := s.root("sst"); err != nil {
		return nil, err
	}
	var one []byte
	err := s.children(func(e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		var err error
		if one, err = s.rich(one[:0]); err != nil {
			return err
		}
		out.all = append(out.all, one...)
		if len(out.all) > stringsBytesMax || len(out.ends) == stringsMax {
			return fmt.Errorf("the workbook holds more than %d MiB or %d million of texts: export the sheet as CSV", stringsBytesMax>>20, stringsMax>>20)
		}
		out.ends = append(out.ends, uint32(min(len(out.all), math.MaxUint32))) //nolint:gosec // bounded just above
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, s.end()
}

// rich reads a text that may be made of several runs, without what says how to pronounce it. to must be empty.
func (s *stream) rich(to []byte) ([]byte, error) {
	err := s.children(func(e xml.StartElement) error {
		var err error
		switch e.Name.Local {
		case "t":
			to, err = s.text(to)
		case "r":
			err = s.children(func(e xml.StartElement) (err error) {
				if e.Name.Local == "t" {
					to, err = s.text(to)
				}
				return err
			})
		}
		return err
	})
	if err != nil {
		return to, err
	}
	return unescape(to), nil
}

// unescape undoes _x000D_, as which characters are stored that XML cannot hold, and _x005F_, the escape of itself.
func unescape(b []byte) []byte {
	if !bytes.Contains(b, []byte("_x")) {
		return b
	}
	out := b[:0]
	for i := 0; i < len(b); {
		if r, ok := escape(b[i:]); ok {
			out = utf8.AppendRune(out, r) // never longer than the escape
			i += escapeLen
			continue
		}
		out = append(out, b[i])
		i++
	}
	return out
}

const escapeLen = len("_x000D_")

func escape(b []byte) (rune, bool) {
	if len(b) < escapeLen || b[0] != '_' || b[1] != 'x' || b[escapeLen-1] != '_' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:escapeLen-1]), 16, 16)
	return rune(n), err == nil && (n < 0xD800 || n >= 0xE000) // no half of a pair
}

var errNoStrings = errors.New("a cell names a shared text that the workbook does not have")
