package xlsx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

const (
	tokenBytesMax = 4 << 20
	depthMax      = 64
)

// budget bounds what one token may take out of a part, because the decoder holds a token whole.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an element holds more than %d MiB", tokenBytesMax>>20)
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// stream gives the tokens of a part. Depth counts open elements: it is 1 within the root.
type stream struct {
	src    *budget
	dec    *xml.Decoder
	depth  int
	closer io.Closer
}

func newStream(r io.ReadCloser) *stream {
	src := &budget{r: r}
	return &stream{src: src, dec: xml.NewDecoder(src), closer: r}
}

// next returns the next start, end or text, [io.EOF] at the end of the part.
func (s *stream) next() (xml.Token, error) {
	for {
		s.src.left = tokenBytesMax
		t, err := s.dec.Token()
		if err != nil {
			return nil, err
		}
		switch t.(type) {
		case xml.StartElement:
			if s.depth++; s.depth > depthMax {
				return nil, fmt.Errorf("elements lie more than %d deep", depthMax)
			}
			return t, nil
		case xml.EndElement:
			s.depth--
			return t, nil
		case xml.CharData:
			return t, nil
		case xml.Directive:
			return nil, errors.New("it declares a document type, which no workbook does")
		}
	}
}

// skip reads to the end of the element that was begun last.
func (s *stream) skip() error {
	for outside := s.depth - 1; s.depth > outside; {
		if _, err := s.next(); err != nil {
			return cut(err)
		}
	}
	return nil
}

// end reads to the end of the part, so that it is known to be whole.
func (s *stream) end() error {
	for {
		if _, err := s.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (s *stream) close() { _ = s.closer.Close() }

// cut makes the end of the input within an element an error of its own.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// children calls f for the start of every element until the one begun last ends; f may read its element, what it leaves
// of it is skipped.
func (s *stream) children(f func(e xml.StartElement) error) error {
	for inside := s.depth; ; {
		t, err := s.next()
		if err != nil {
			return cut(err)
		}
		switch e := t.(type) {
		case xml.StartElement:
			if err := f(e); err != nil {
				return err
			}
			for s.depth > inside {
				if err := s.skip(); err != nil {
					return err
				}
			}
		case xml.EndElement:
			return nil
		}
	}
}

// root reads the start of the root element, which must be of that name.
func (s *stream) root(name string) error {
	for {
		t, err := s.next()
		if err != nil {
			return cut(err)
		}
		if e, ok := t.(xml.StartElement); ok {
			if e.Name.Local != name {
				return fmt.Errorf("it holds a %s, not a %s", e.Name.Local, name)
			}
			return nil
		}
	}
}

// text reads the text up to the end of the element begun last, and appends it.
func (s *stream) text(to []byte) ([]byte, error) {
	for inside := s.depth; ; {
		t, err := s.next()
		if err != nil {
			return to, cut(err)
		}
		switch e := t.(type) {
		case xml.CharData:
			if len(to)+len(e) > textBytesMax {
				return to, errTooLong
			}
			to = append(to, e...)
		case xml.StartElement:
			if err := s.skip(); err != nil {
				return to, err
			}
		case xml.EndElement:
			if s.depth < inside {
				return to, nil
			}
		}
	}
}

// attr returns an attribute without namespace, "" when it is not there.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}
