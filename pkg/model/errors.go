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

	// ErrTimeOfDay is returned for text that is not a wall-clock time of the form HH:MM or HH:MM:SS before 24:00.
	ErrTimeOfDay = errors.New("not a time of day (HH:MM or HH:MM:SS, 00:00 to 23:59:59)")

	// ErrCalendar is returned for a calendar without any business day.
	ErrCalendar = errors.New("the calendar has no business day")

	// ErrNotBusinessDay is returned for a day that the job's calendar leaves out.
	ErrNotBusinessDay = errors.New("not a business day of the job")

	// ErrBeforeStart is returned for a day before the job's start.
	ErrBeforeStart = errors.New("before the job's start")

	// ErrNotDue is returned for a day whose due instant has not come.
	ErrNotDue = errors.New("not due yet")

	// ErrReviewStep is returned for a review step that the state machine does not allow. Nothing was changed.
	ErrReviewStep = errors.New("review step not allowed")
)
