package formats_test

import (
	"os"
	"path/filepath"
	"testing"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/formats"
)

// FuzzTell checks that any beginning of a document is of one format or refused in words, without a panic.
func FuzzTell(f *testing.F) {
	found, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "docs", "examples", "bills", "bills", "*"))
	if err != nil || len(found) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range found {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	for _, s := range []string{"", "[]", "{}", "\xEF\xBB\xBF", "\x00", "#", ":20:", "{\"data\":[{", "<xml>", "\"RH\","} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if len(head) > 64<<10 {
			return
		}
		h := bill.NewHead(head)
		switch of, err := formats.Tell(h); {
		case err == nil && of == nil, err != nil && of != nil:
			t.Fatalf("neither a format nor an error, or both: %v %v", of, err)
		case err != nil && (err.Error() == "" || len(err.Error()) > 4<<10):
			t.Fatalf("a refusal of %d bytes", len(err.Error()))
		}
		bill.NoBill(h)
	})
}
