package source

import (
	"errors"
	"fmt"
	"slices"
)

const problemsMax = 20

// problems collects what is wrong with one input, the first twenty in words and the rest by count.
type problems struct {
	errs []error
	more int
}

// add notes a problem at a place ("file:line:column"). The message is only made when it will be shown.
func (p *problems) add(place func() string, err error) {
	if len(p.errs) == problemsMax {
		p.more++
		return
	}
	p.errs = append(p.errs, fmt.Errorf("%s: %w", place(), err))
}

func (p *problems) count() int { return len(p.errs) + p.more }

// err returns nil when nothing was wrong, else one line per problem, wrapping [ErrInput].
func (p *problems) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	all := p.errs
	if p.more > 0 {
		all = append(slices.Clip(all), fmt.Errorf("and %d more", p.more))
	}
	return &inputError{errors.Join(all...)}
}

// inputError is an [ErrInput] that prints only what is wrong.
type inputError struct{ err error }

func (e *inputError) Error() string   { return e.err.Error() }
func (e *inputError) Unwrap() []error { return []error{e.err, ErrInput} }

// unusable marks an error as one of the input, unless it is of another kind already.
func unusable(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrSpec) || errors.Is(err, ErrInput) {
		return err
	}
	return &inputError{err}
}
