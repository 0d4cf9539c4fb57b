package model

import "errors"

var (
	// ErrDay is returned for text that is not a calendar date of the form YYYY-MM-DD between 1970-01-01 and 2149-06-06.
	ErrDay = errors.New("not a calendar date of the form YYYY-MM-DD")

	// ErrAmount is returned for text that is not an exact amount: optional sign, digits, at most one decimal point,
	// at most 18 integer and 8 fractional digits.
	ErrAmount = errors.New("not an exact amount")

	// ErrJobName is returned for a job name outside [a-z0-9][a-z0-9-]{0,62}.
	ErrJobName = errors.New("not a job name ([a-z0-9][a-z0-9-]{0,62})")

	// ErrReviewStep is returned for a review step that the state machine does not allow. Nothing was changed.
	ErrReviewStep = errors.New("review step not allowed")
)
