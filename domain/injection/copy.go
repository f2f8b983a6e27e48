package injection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

// Workload is the part of a workload that copying reads.
type Workload struct {
	// Metadata is its own.
	Metadata Metadata
	// Template is its pod template.
	Template Shape
	// Path is the JSON Pointer of the template.
	Path string
	// Frozen is set where the template can no longer be changed.
	Frozen bool
}

// Service is the part of a Service that copying reads.
type Service struct {
	// Name is the Service's.
	Name string
	// Selector holds the labels of its pods; empty for no pods.
	Selector map[string]string
	// Annotations are the Service's.
	Annotations map[string]string
}

// selects reports whether the Service selects pods with those labels.
func (s Service) selects(labels map[string]string) bool {
	for key, value := range s.Selector {
		if labels[key] != value {
			return false
		}
	}
	return len(s.Selector) > 0
}

// consumerKeys lists the keys that a pod must carry itself, since its injection depends on nothing else (SAFETY.md
// I21). Relations are not among them: the controller reads those from the workload, and a new one must not roll it
// out.
func consumerKeys() []string {
	return []string{application.KeyConsumes, application.KeyPeers, application.KeyEnv, application.KeyGate,
		application.KeyApplication, application.KeyInject}
}

// serviceKeys are those that a Service may give (SAFETY.md I22).
func serviceKeys() []string {
	return []string{application.KeyConsumes, application.KeyEnv, application.KeyGate}
}

// Copies brings the consumer keys of a workload, or of the one Service that
// selects it, to its pod template (INJECTION.md I30). What the template's
// author wrote stays. Copies are listed in an annotation, so that they follow
// their origin; a copy from a Service stays when nothing says what the pods
// consume any more, for an end is never guessed (SAFETY.md L5).
//
// A workload that opts out by its label is not sent to the webhook, so that
// nothing is copied to its template.
//
// It returns the template's annotations as they will be, the steps, and what
// the author should hear.
func Copies(w Workload, services []Service) (map[string]string, []jsonpatch.Operation, []application.Problem) {
	_, made := w.Metadata.Controller()
	if w.Frozen || made || w.Metadata.Labels[application.KeyInject] == "false" {
		return w.Template.Metadata.Annotations, nil, nil
	}
	c := copier{template: w.Template.Metadata.Annotations, marks: parseMarks(w.Template.Metadata.Annotations[application.KeyCopied])}
	c.wantOwn(w.Metadata.Annotations)
	c.wantServices(services, w.Template.Metadata.Labels)
	return c.write(w.Path)
}

// Uncopied returns the annotations that bring a pod template the consumer keys that Copies would and that it lacks, with
// the list of copies; nil if it lacks none. The webhook was away, or the declaration came after the workload
// (TRUST.md A11).
func Uncopied(w Workload, services []Service) map[string]string {
	after, _, _ := Copies(w, services)
	before := w.Template.Metadata.Annotations
	marks, origins := parseMarks(before[application.KeyCopied]), parseMarks(after[application.KeyCopied])
	missing := map[string]string{}
	for key, origin := range origins {
		if !has(before, key) {
			missing[key], marks[key] = after[key], origin
		}
	}
	if len(missing) == 0 {
		return nil
	}
	missing[application.KeyCopied] = formatMarks(marks)
	return missing
}

type copier struct {
	template map[string]string
	marks    map[string]string // key to origin as it was: "" or a Service's name
	wanted   map[string]wanted
	// settled is set where the workload, its template or one Service says what the pods consume: other copies of Services go.
	settled  bool
	problems []application.Problem
}

type wanted struct{ value, origin string }

func (c *copier) wantOwn(annotations map[string]string) {
	c.wanted = map[string]wanted{}
	for _, key := range consumerKeys() {
		if value, there := annotations[key]; there {
			c.wanted[key] = wanted{value: value}
		}
	}
}

// wantServices takes the keys of the one declaring Service, unless the
// workload or its template declares by itself.
func (c *copier) wantServices(services []Service, labels map[string]string) {
	if _, own := c.wanted[application.KeyConsumes]; own || c.authored(application.KeyConsumes) {
		c.settled = true
		return
	}
	var from []Service
	for _, s := range services {
		if _, declares := s.Annotations[application.KeyConsumes]; declares && s.selects(labels) {
			from = append(from, s)
		}
	}
	slices.SortFunc(from, func(a, b Service) int { return strings.Compare(a.Name, b.Name) })
	if len(from) > 1 {
		c.problems = append(c.problems, application.Problem{
			Key: application.KeyConsumes, Warning: true,
			Reason: fmt.Sprintf("Services %s and %s both say what these pods consume, so neither counts", from[0].Name, from[1].Name),
			Cure:   "say it on the workload",
		})
	}
	if len(from) != 1 {
		return
	}
	c.settled = true
	for _, key := range serviceKeys() {
		if value, there := from[0].Annotations[key]; there {
			if _, own := c.wanted[key]; !own {
				c.wanted[key] = wanted{value: value, origin: from[0].Name}
			}
		}
	}
}

// authored reports whether the template's author wrote the key.
func (c *copier) authored(key string) bool {
	_, marked := c.marks[key]
	return has(c.template, key) && !marked
}

func (c *copier) write(path string) (map[string]string, []jsonpatch.Operation, []application.Problem) {
	after := maps.Clone(c.template)
	if after == nil {
		after = map[string]string{}
	}
	marks := map[string]string{}
	for _, key := range consumerKeys() {
		origin, marked := c.marks[key]
		want, wants := c.wanted[key]
		switch {
		case wants && c.authored(key):
			if after[key] != want.value {
				c.problems = append(c.problems, application.Problem{Key: key, Entry: want.value, Warning: true,
					Reason: fmt.Sprintf("the pod template says %q, which counts", application.Shown(after[key])),
					Cure:   "say it in one place"})
			}
		case wants:
			after[key], marks[key] = want.value, want.origin
		case marked && (origin == "" || c.settled):
			delete(after, key)
		case marked && has(c.template, key):
			marks[key] = origin
		}
	}
	if list := formatMarks(marks); list != "" {
		after[application.KeyCopied] = list
	} else if len(c.marks) > 0 {
		delete(after, application.KeyCopied)
	}
	return after, difference(path+"/metadata/annotations", c.template, after), c.problems
}

// difference writes the steps from one map to another, by key.
func difference(path string, before, after map[string]string) []jsonpatch.Operation {
	if maps.Equal(before, after) {
		return nil
	}
	if before == nil {
		return []jsonpatch.Operation{{Op: "add", Path: path, Value: encode(after)}}
	}
	var operations []jsonpatch.Operation
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if old, there := before[key]; !there || old != after[key] {
			operations = append(operations, jsonpatch.Operation{Op: "add", Path: path + "/" + jsonpatch.Pointer(key), Value: encode(after[key])})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if !has(after, key) {
			operations = append(operations, jsonpatch.Operation{Op: "remove", Path: path + "/" + jsonpatch.Pointer(key)})
		}
	}
	return operations
}

// parseMarks reads the list of copied keys: key, or key@service.
func parseMarks(text string) map[string]string {
	marks := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		key, origin, _ := strings.Cut(strings.TrimSpace(entry), "@")
		if slices.Contains(consumerKeys(), key) {
			marks[key] = origin
		}
	}
	return marks
}

// CopiedKeys returns the keys of a pod template that are copies, each with the name of the Service that it is of, or "".
func CopiedKeys(template map[string]string) map[string]string {
	return parseMarks(template[application.KeyCopied])
}

func formatMarks(marks map[string]string) string {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		if origin := marks[key]; origin != "" {
			key += "@" + origin
		}
		entries = append(entries, key)
	}
	return strings.Join(entries, ",")
}
