package bundle

import (
	"errors"
	"fmt"
	"strings"
)

// LocatedError is an error of content, whose location quotes none of it. The cause may.
type LocatedError struct {
	// Location names what was done, and where the content is wrong.
	Location string
	// Cause is nil if the location is all.
	Cause error
}

// Located returns an error at a location.
func Located(location string, cause error) error { return &LocatedError{location, cause} }

// Error returns the location and the cause, without repeating either.
func (e *LocatedError) Error() string {
	switch {
	case e.Cause == nil:
		return e.Location
	case strings.Contains(e.Cause.Error(), e.Location):
		return e.Cause.Error()
	}
	return fmt.Sprintf("%s: %v", e.Location, e.Cause)
}

// Unwrap returns the cause.
func (e *LocatedError) Unwrap() error { return e.Cause }

// Unquoted returns an error of content that was made with values of Secrets: the locations of the
// error, without causes, which may quote such values (TRUST.md R5).
func Unquoted(err error) error {
	if err == nil {
		return nil
	}
	where := strings.Join(locations(err), "; ")
	if where == "" {
		where = "the content is wrong"
	}
	return fmt.Errorf("%s (details hidden, because they may quote values of Secrets: orcon render shows them for values of your own)", where)
}

// locations returns the innermost location of each part of an error.
func locations(err error) []string {
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		var found []string
		for _, one := range all.Unwrap() {
			found = append(found, locations(one)...)
		}
		return found
	}
	inner := errors.Unwrap(err)
	if inner != nil {
		if found := locations(inner); len(found) > 0 {
			return found
		}
	}
	if located, ok := err.(*LocatedError); ok { //nolint:errorlint // this error alone
		return []string{located.Location}
	}
	return nil
}
