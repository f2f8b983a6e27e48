package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Beginnings of the names of counts that have to be reached, and beginnings and whole names of the counts to
// reach.
//
//nolint:gochecknoglobals // tables
var (
	working = []string{"ready", "available", "updated", "uptodate", "healthy", "online", "succeeded"}
	ought   = []string{"", "desired", "total", "expected", "observed"}
	sizes   = []string{"replicas", "desired", "total", "members", "size", "expected"}
)

// counts returns the evidence of pairs of counts in a map: readyReplicas against replicas.
func (o subject) counts(path string, fields map[string]any) []Evidence {
	numbers := map[string]int64{}
	for name, value := range fields {
		if n, ok := number(value); ok && !isText(value) {
			numbers[plain(name)] = n
		}
	}
	var all []Evidence
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		have, counted := numbers[plain(name)]
		if !counted || isText(fields[name]) {
			continue
		}
		if e, found := o.pair(path, name, have, numbers); found {
			all = append(all, e)
		}
	}
	return all
}

func isText(value any) bool {
	_, text := value.(string)
	return text
}

// pair returns the evidence of one count with the largest one that it is to reach.
func (o subject) pair(path, name string, have int64, numbers map[string]int64) (Evidence, bool) {
	e := Evidence{Path: path + "." + name, Value: fmt.Sprint(have)}
	if strings.HasPrefix(name, "unavailable") || strings.HasPrefix(name, "unready") {
		e.Class, e.Says = Negative, fmt.Sprintf("%s is %d", name, have)
		return e, have > 0
	}
	want := int64(0)
	for _, total := range totals(name) {
		want = max(want, numbers[total])
		if path == "status" {
			want = max(want, sizeOf(o, total))
		}
	}
	e.Value, e.Says = fmt.Sprintf("%d of %d", have, want), fmt.Sprintf("%s is %d of %d", name, have, want)
	if e.Class = Positive; have < want {
		e.Class = Negative
	}
	return e, want > 0
}

// sizeOf returns a count of the spec; 0 if there is none.
func sizeOf(o subject, name string) int64 {
	spec, _ := o.at("spec").(map[string]any)
	for key, value := range spec {
		if plain(key) == name {
			n, _ := number(value)
			return n
		}
	}
	return 0
}

// totals returns the names of the counts that a count is to reach; none for other names.
func totals(name string) []string {
	name = plain(name)
	if of, found := strings.CutPrefix(name, "current"); found && of != "" {
		return []string{"desired" + of}
	}
	for _, begin := range working {
		of, found := strings.CutPrefix(name, begin)
		switch {
		case !found:
			continue
		case of == "" && (begin == "ready" || begin == "succeeded"):
			return sizes
		case of == "":
			return nil
		}
		var all []string
		for _, o := range ought {
			all = append(all, o+of)
		}
		return all
	}
	return nil
}
