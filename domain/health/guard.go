package health

import (
	"fmt"
	"strings"
	"time"
)

// lag is how long a controller has to look at a change of an object's spec.
const lag = 15 * time.Second

// guard returns the verdict about an object that no rule may call ready yet. An object that is statusless is
// not waited for.
func (o subject) guard(status Presence, statusless bool, now time.Time) (v Verdict, guarded bool) {
	wait := func(rule, says string) (Verdict, bool) {
		return Verdict{State: InProgress, Says: says, Rule: rule}, true
	}
	switch observed, known := observedGeneration(o); {
	case o.at("metadata", "deletionTimestamp") != nil:
		return wait("an object that is deleted", "is being deleted"+finalizers(o))
	case lacksStatus(o, status) && !statusless:
		v, _ := wait("a status that is missing", "has no status yet: its controller has not looked at it")
		v.Silent = !o.isBuiltin()
		return v, true
	case known && ahead(o, observed):
		return wait("a generation behind",
			fmt.Sprintf("its controller has not looked at its last change yet (it has looked at generation %d)", observed))
	case !known && !o.isBuiltin() && stale(o, now):
		return wait("a status that is old", "its controller has not looked at its last change yet (its status is older)")
	}
	return Verdict{}, false
}

// lacksStatus reports whether a status is missing that will come.
func lacksStatus(o subject, defined Presence) bool {
	if o.status() != nil || defined == Absent {
		return false
	}
	if o.isBuiltin() {
		group, kind := o.kind()
		return builtins[group+"/"+kind].status
	}
	return true
}

// observedGeneration returns the generation that the status is about, or else the newest one of its conditions;
// known is false where neither names one.
func observedGeneration(o subject) (generation int64, known bool) {
	if generation, known = number(o.at("status", "observedGeneration")); known {
		return generation, true
	}
	for _, c := range list(o.at("status", "conditions")) {
		if observed, found := number(c["observedGeneration"]); found {
			generation, known = max(generation, observed), true
		}
	}
	return generation, known
}

func ahead(o subject, observed int64) bool {
	generation, known := o.generation()
	return known && generation != observed
}

// odd describes a status that is not formed as statuses are; empty if it is.
func odd(o subject) string {
	value := o.at("status", "observedGeneration")
	if _, ok := number(value); ok || value == nil {
		return ""
	}
	return fmt.Sprintf("its status cannot be read: observedGeneration is %q, not a number", fmt.Sprint(value))
}

func finalizers(o subject) string {
	var names []string
	all, _ := o.at("metadata", "finalizers").([]any)
	for _, name := range all {
		names = append(names, fmt.Sprint(name))
	}
	if len(names) == 0 {
		return ""
	}
	return " and waits for finalizers " + strings.Join(names, ", ")
}

// stale reports whether the status was written before the last change of something else, which is
// younger than the lag. It needs managedFields.
func stale(o subject, now time.Time) bool {
	var changed, judged time.Time
	for _, entry := range list(o.at("metadata", "managedFields")) {
		text, _ := entry["time"].(string)
		when, err := time.Parse(time.RFC3339, text)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if err != nil {
			continue
		}
		if fields["f:status"] != nil {
			judged = later(judged, when)
		}
		if changes(fields) {
			changed = later(changed, when)
		}
	}
	return !judged.IsZero() && judged.Before(changed) && now.Sub(changed) < lag
}

// changes reports whether managed fields are others than metadata and status.
func changes(fields map[string]any) bool {
	for name := range fields {
		if name != "f:status" && name != "f:metadata" {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
