package retry

import (
	"strings"
	"time"
	"unicode"
)

// Log picks the failures in a row that are worth a line of a log. The zero value is that of a row which begins.
type Log struct {
	said string
	at   time.Time
}

// again is how long a failure is not logged again.
const again = time.Minute

// Failed returns the log after a failure, and whether that is logged: the first one is, one that differs from the last in
// more than numbers, such as times and ports, and the same one once a minute.
func (l Log) Failed(failure string, now time.Time) (Log, bool) {
	said := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, failure)
	if said == l.said && now.Sub(l.at) < again {
		return l, false
	}
	return Log{said, now}, true
}
