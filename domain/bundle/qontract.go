package bundle

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Annotations that Qontract's integrations write.
const (
	qontract            = "qontract."
	qontractIntegration = "qontract.integration"
	qontractCaller      = "qontract.caller_name"
	qontractUpdate      = "qontract.update"
)

// QontractMarks are the annotations by which Qontract knows its objects.
//
//nolint:gochecknoglobals // a table
var QontractMarks = []string{qontractIntegration, qontractCaller}

// Migrates reports whether a deployment that takes the object also takes the fields that its manager set. Qontract applies
// on the client side: its fields would stay for ever, and by its annotations it would delete the object (FLEET-DESIGN.md 11).
func (l Live) Migrates(owner string) bool {
	situation, holder := l.Situation(owner)
	return situation == Foreign && strings.HasPrefix(holder, "Qontract ")
}

// idle is for how long Qontract must have left an object alone before a deployment takes it.
const idle = time.Hour

// busy returns when Qontract last wrote the object, if that was less than an hour ago; else the zero time. Qontract writes
// times in UTC, without a zone.
func (l Live) busy(owner string, now time.Time) time.Time {
	at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(l.Object.Annotation(qontractUpdate), "Z"))
	if !l.Migrates(owner) || err != nil || now.Sub(at) >= idle {
		return time.Time{}
	}
	return at
}

// clientSide reports whether a change is that of an annotation by which Qontract or its client keeps books.
func (c Change) clientSide() bool {
	annotation, found := strings.CutPrefix(c.Path, "metadata.annotations.")
	return found && c.After == "" &&
		(strings.HasPrefix(annotation, qontract) || annotation == "kubectl.kubernetes.io/last-applied-configuration")
}

// active describes a conflict with a program that writes the object at present.
func (c Conflict) active() string {
	return fmt.Sprintf("%s %s, which wrote it at %s, less than an hour ago: both would write it in turn: take it out of the other's data "+
		"first, and wait for an hour", c.ID, managedBy(cmp.Or(c.Holder, "another program")), c.Active.UTC().Format(time.RFC3339))
}
