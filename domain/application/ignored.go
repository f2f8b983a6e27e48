package application

import (
	"fmt"
	"strings"
	"time"
)

// mostIgnoredPods is how many pods of one ignored workload are listed.
const mostIgnoredPods = 64

// ignore notes that an object declares something and belongs to no application.
func (g *gathering) ignore(application, object, reason string, created time.Time, why string) {
	g.ignored[object] = len(g.orphans)
	g.orphans = append(g.orphans, Fault{
		Application: application, Object: object, Reason: reason, Created: created,
		Message: fmt.Sprintf("%s exists but is ignored: %s", written(object), why),
	})
}

// written returns kind/name as it stands in a sentence.
func written(object string) string { return strings.Replace(object, "/", " ", 1) }

// listed joins names: a, b and c.
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
