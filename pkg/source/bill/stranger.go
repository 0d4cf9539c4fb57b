package bill

// Stranger is a kind of file that people give instead of a bill, known so that the refusal can say what to do.
type Stranger struct {
	Title  string // what it is, such as "a WeChat Pay personal export"
	Advice string // what to do instead
	Fits   func(Head) bool
}
