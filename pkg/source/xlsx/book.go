package xlsx

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Opener opens an entry of the container and bounds what comes out of it.
type Opener func(*zip.File) (io.ReadCloser, error)

// Book is a workbook. It is used by one reader at a time.
type Book struct {
	Sheets   []Sheet // of cells, in the order of their tabs
	Date1904 bool    // dates count from 1904

	open    Opener
	parts   map[string]*zip.File // by folded name
	formats []format             // by style
	strings *shared
	links   links // from the workbook
}

// Sheet is one sheet of cells.
type Sheet struct {
	Name   string
	Hidden bool
	part   string
}

// ErrNoWorkbook is returned by [Open] for a container without a workbook.
var ErrNoWorkbook = errors.New("it holds no workbook")

// The workbooks of other programs and forms, by a part that they have.
var others = []struct{ part, what string }{
	{"xl/workbook.bin", "a binary Excel workbook (xlsb): save it as xlsx"},
	{"content.xml", "an OpenDocument file (ods): save it as xlsx"},
	{"word/document.xml", "a Word document"},
	{"ppt/presentation.xml", "a presentation"},
}

const sheetsMax = 4096

// fold makes names of parts comparable: they are without case, and some programs write them with backslashes.
func fold(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// Open reads what a workbook says of its sheets, styles and shared texts. The error says what is wrong, not in which file.
func Open(files []*zip.File, open Opener) (*Book, error) {
	b := &Book{open: open, parts: map[string]*zip.File{}}
	for _, f := range files {
		name := fold(f.Name)
		if _, twice := b.parts[name]; twice {
			return nil, fmt.Errorf("part %.60q is there twice", f.Name)
		}
		b.parts[name] = f
	}
	for _, o := range others {
		if _, there := b.parts[o.part]; there {
			return nil, fmt.Errorf("it is %s: %w", o.what, ErrNoWorkbook)
		}
	}
	root, err := b.relations("")
	if err != nil {
		return nil, err
	}
	main, err := root.one("officeDocument")
	if err != nil {
		return nil, err
	}
	if main == "" || b.parts[fold(main)] == nil {
		return nil, ErrNoWorkbook
	}
	if err := b.readWorkbook(main); err != nil {
		return nil, err
	}
	return b, b.readTables()
}

// part opens a part as XML and gives it to f; the error names the part.
func (b *Book) part(name string, f func(*stream) error) error {
	file := b.parts[fold(name)]
	if file == nil {
		return fmt.Errorf("part %.60q is missing", name)
	}
	r, err := b.open(file)
	if err != nil {
		return err
	}
	s := newStream(r)
	defer s.close()
	if err := f(s); err != nil {
		return fmt.Errorf("part %.60q: %w", name, cut(err))
	}
	return nil
}

// link is a relation to another part.
type link struct{ id, kind, target string }

// is compares the last word of the relation's type: there are two families of names before it.
func (l link) is(kind string) bool { return strings.HasSuffix(l.kind, "/relationships/"+kind) }

// links are the relations of one part.
type links []link

// one returns the target of the one link of that kind, "" when there is none.
func (ls links) one(kind string) (string, error) {
	found := ""
	for _, l := range ls {
		if !l.is(kind) {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("it points to more than one part as its %s", kind)
		}
		found = l.target
	}
	return found, nil
}

// relations reads where a part points to, nothing when it says so nowhere.
func (b *Book) relations(of string) (links, error) {
	folder := path.Dir(of)
	name := path.Join(folder, "_rels", path.Base("/"+of)+".rels")
	if of == "" {
		folder, name = "", "_rels/.rels"
	}
	if b.parts[fold(name)] == nil {
		return nil, nil
	}
	var out links
	err := b.part(name, func(s *stream) error {
		if err := s.root("Relationships"); err != nil {
			return err
		}
		err := s.children(func(e xml.StartElement) error {
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(folder, target)
			}
			if attr(e, "TargetMode") != "External" {
				out = append(out, link{attr(e, "Id"), attr(e, "Type"), strings.TrimPrefix(path.Clean(target), "/")})
			}
			return tooMany(len(out), "relations")
		})
		if err != nil {
			return err
		}
		return s.end()
	})
	return out, err
}

func (b *Book) readWorkbook(name string) error {
	var err error
	if b.links, err = b.relations(name); err != nil {
		return err
	}
	return b.part(name, func(s *stream) error {
		if err := s.root("workbook"); err != nil {
			return err
		}
		err := s.children(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "workbookPr":
				v := attr(e, "date1904")
				b.Date1904 = v == "1" || v == "true"
			case "sheets":
				return s.children(b.addSheet)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.end()
	})
}

// addSheet notes a sheet of cells; charts and macros are none.
func (b *Book) addSheet(e xml.StartElement) error {
	id := ""
	for _, a := range e.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			id = a.Value
		}
	}
	at := slices.IndexFunc(b.links, func(l link) bool { return l.id == id })
	switch {
	case at < 0:
		return fmt.Errorf("sheet %.60q is in no part", attr(e, "name"))
	case !b.links[at].is("worksheet"):
		return nil
	case len(b.Sheets) == sheetsMax:
		return fmt.Errorf("there are more than %d sheets", sheetsMax)
	}
	state := attr(e, "state")
	b.Sheets = append(b.Sheets, Sheet{attr(e, "name"), state != "" && state != "visible", b.links[at].target})
	return nil
}

// readTables reads the styles and the shared texts. A workbook without them is one without dates and shared texts.
func (b *Book) readTables() error {
	b.strings = &shared{}
	styles, err := b.links.one("styles")
	if err != nil {
		return err
	}
	texts, err := b.links.one("sharedStrings")
	if err != nil {
		return err
	}
	if styles != "" {
		err := b.part(styles, func(s *stream) (err error) {
			b.formats, err = readStyles(s)
			return err
		})
		if err != nil {
			return err
		}
	}
	if texts == "" {
		return nil
	}
	return b.part(texts, func(s *stream) (err error) {
		b.strings, err = readShared(s)
		return err
	})
}
