package bill

// Stranger is a kind of file that people give instead of a bill, known so that the refusal can say what to do.
type Stranger struct {
	Title  string // what it is, such as "a WeChat Pay personal export"
	Advice string // what to do instead
	Fits   func(Head) bool

	// Explain quotes what the document says of itself, such as the message of an error; "" for nothing. It may be nil.
	Explain func(Head) string
}

// Named is the title with what the document says of itself.
func (s Stranger) Named(h Head) string {
	if s.Explain != nil {
		if says := s.Explain(h); says != "" {
			return s.Title + " (" + says + ")"
		}
	}
	return s.Title
}
