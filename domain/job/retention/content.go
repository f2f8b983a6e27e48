package retention

import (
	"time"
)

// StoredContent is a content of templates.
type StoredContent struct {
	Digest string
	Stored time.Time
}

// Contents returns the digests of the contents of a namespace that may be deleted: those that no object of the namespace
// names, a day after they were stored (JOBS.md J5). The objects must be read from the API server, after the store was listed.
func Contents(stored []StoredContent, named map[string]bool, now time.Time) []string {
	var gone []string
	for _, c := range stored {
		if !named[c.Digest] && now.Sub(c.Stored) >= Age {
			gone = append(gone, c.Digest)
		}
	}
	return gone
}
