package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// RunPolicy says when a Job runs.
type RunPolicy string

// The policies of Jobs.
const (
	// OnChange runs a Job once for each content; the default.
	OnChange RunPolicy = "OnChange"
	// Once runs it once, whatever becomes of its content.
	Once RunPolicy = "Once"
	// Always runs it in each revision.
	Always RunPolicy = "Always"
	// OnUpgrade runs it in each revision that changes a healthy one, and not in a first installation.
	OnUpgrade RunPolicy = "OnUpgrade"
	// OnUninstall runs it in an uninstallation, before anything is deleted.
	OnUninstall RunPolicy = "OnUninstall"
)

// ParseRunPolicy reads the value of annotation orcon.tengu.io/run-policy.
func ParseRunPolicy(text string) (RunPolicy, error) {
	_, err := word(text, []string{string(Once), string(OnChange), string(Always), string(OnUpgrade), string(OnUninstall)})
	return RunPolicy(text), err
}

const (
	// suffixLength is how many digits of its digest stand in a Job's name.
	suffixLength = 10
	// longestJob is how long the name of a Job may be.
	longestJob = 63
	// leastTTL is how long a finished Job stays at least, in seconds: a day, so that its
	// completion can be recorded after an outage.
	leastTTL = 24 * 60 * 60
)

func (i Item) job() bool { return i.ID.kind() == "Job.batch" }

// named gives a Job the name under which it runs: its own and what salt makes of its
// digest. What is under that name is that content, so that a Job is never changed.
func (i Item) named(salt string) Item {
	name := i.Origin.Name
	if most := longestJob - 1 - suffixLength; len(name) > most {
		name = strings.TrimRight(name[:most], ".") // no part of a name may begin with the dash that follows
	}
	i.ID.Name = name + "-" + digest(i.Digest, salt)[:suffixLength]
	i.Object = i.Object.with(i.ID.Name, "metadata", "name")
	if ttl, ok := i.Object.At("spec", "ttlSecondsAfterFinished").(int64); ok && ttl < leastTTL {
		i.Object = i.Object.with(int64(leastTTL), "spec", "ttlSecondsAfterFinished")
	}
	return i
}

// turn returns an item as a revision has it that changes another one, 0 for a first installation: a Job that runs in each
// has a name of its own, and one that does not run now is kept.
func (i Item) turn(changes int) Item {
	switch {
	case i.Kept:
	case i.Run == OnUninstall, i.Run == OnUpgrade && changes == 0:
		i.Kept = true
	case i.Run == Always, i.Run == OnUpgrade:
		i = i.named(strconv.Itoa(changes))
	}
	return i
}

// idle explains why a Job of the policy does not run in a revision that changes another one.
func (p RunPolicy) idle(changes int) string {
	switch {
	case p == OnUninstall:
		return "runs in an uninstallation"
	case p == OnUpgrade && changes == 0:
		return "runs on upgrades"
	}
	return "has already run"
}

// run returns the identity that is recorded when a Job has completed: the name that its author gave it if it runs
// once, else the name under which it ran.
func (i Item) run() ID {
	if i.Run == Once {
		return i.Origin
	}
	return i.ID
}

// ended reports how a live Job has ended: "Complete", "Failed", or "" while it has not. Pods alone do not show it: a
// Job that runs looks like one that is ready.
func ended(o Object) string {
	for _, c := range list(o.At("status", "conditions")) {
		fields, _ := c.(map[string]any)
		if end := Object(fields).Text("type"); (end == complete || end == failed) && fields["status"] == "True" {
			return end
		}
	}
	return ""
}

// The ends of a Job, as its conditions name them.
const (
	complete = "Complete"
	failed   = "Failed"
)

// with returns a copy of the object with a value at a path of names.
func (o Object) with(value any, name string, below ...string) Object {
	o = maps.Clone(o)
	if o == nil {
		o = Object{}
	}
	if len(below) == 0 {
		o[name] = value
		return o
	}
	fields, _ := o[name].(map[string]any)
	o[name] = map[string]any(Object(fields).with(value, below[0], below[1:]...))
	return o
}

// digest is the SHA-256 of some texts, each with its length before it, in hexadecimal.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
