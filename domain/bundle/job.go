package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
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
)

// ParseRunPolicy reads the value of annotation orcon.tengu.io/run-policy.
func ParseRunPolicy(text string) (RunPolicy, error) {
	_, err := word(text, []string{string(Once), string(OnChange), string(Always)})
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
		name = name[:most]
	}
	i.ID.Name = name + "-" + digest(i.Digest, salt)[:suffixLength]
	i.Object = i.Object.with(i.ID.Name, "metadata", "name")
	if ttl, ok := i.Object.At("spec", "ttlSecondsAfterFinished").(int64); ok && ttl < leastTTL {
		i.Object = i.Object.with(int64(leastTTL), "spec", "ttlSecondsAfterFinished")
	}
	return i
}

// run is what is recorded when a Job has completed: who runs once is known by the name
// that its author gave it, others by that under which they ran.
func (i Item) run() ID {
	if i.Run == Once {
		return i.Origin
	}
	return i.ID
}

// jobFailed reports whether a live Job has ended without success.
func jobFailed(o Object) bool {
	conditions, _ := o.At("status", "conditions").([]any)
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["type"] == "Failed" && fields["status"] == "True" {
			return true
		}
	}
	return false
}

// with returns a copy of the object with a value at a path of names.
func (o Object) with(value any, path ...string) Object {
	o = maps.Clone(o)
	if len(path) == 1 {
		o[path[0]] = value
		return o
	}
	below, _ := o[path[0]].(map[string]any)
	if below == nil {
		below = map[string]any{}
	}
	o[path[0]] = map[string]any(Object(below).with(value, path[1:]...))
	return o
}

// digest is the SHA-256 of some texts, each with its length before it, in hexadecimal.
func digest(texts ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, text := range texts {
		for i := range length {
			length[i] = byte(len(text) >> (8 * i))
		}
		h.Write(length[:])
		h.Write([]byte(text))
	}
	return hex.EncodeToString(h.Sum(nil))
}
