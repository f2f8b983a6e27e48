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

// unnamable returns why a workload's name cannot be that of an application; empty if it can.
func unnamable(name string) (reason, why string) {
	const cure = "; set " + KeyApplication + " on its pod template"
	switch {
	case strings.Contains(name, "."):
		return ReasonDot, "the name of an application must not contain a dot" + cure
	case len(name) > maxName:
		return ReasonLong, fmt.Sprintf("the name of an application has at most %d characters%s", maxName, cure)
	default:
		return "", ""
	}
}

// nameless is a workload whose name cannot be that of an application.
type nameless struct {
	workload    Workload
	reason, why string
}

// noteNameless notes a workload for the Services that select it.
func (g *gathering) noteNameless(w Workload, reason, why string) {
	for k, v := range w.TemplateLabels {
		if label := [2]string{k, v}; g.nameless[label].reason == "" {
			g.nameless[label] = nameless{w, reason, why}
		}
	}
}

// unselected returns why a Service with that selector belongs to no application.
func (g *gathering) unselected(selector map[string]string) (reason, why string) {
	for _, k := range sortedKeys(selector) {
		if n := g.nameless[[2]string{k, selector[k]}]; n.reason != "" && Selects(selector, n.workload.TemplateLabels) {
			return n.reason, fmt.Sprintf("it selects %s %s, and %s", n.workload.Kind, n.workload.Name, n.why)
		}
	}
	return ReasonNoPods, "its selector matches no workload or pod"
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
