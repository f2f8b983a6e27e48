package declaration

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// Services finds the Services of a namespace.
type Services interface {
	// Declaring returns the Services of a namespace that declare what their pods consume,
	// from memory.
	Declaring(namespace string) []injection.Service
}

// Schemas finds interfaces, and how namespaces apply them.
type Schemas interface {
	// Catalog returns the interfaces that are in force now, from memory.
	Catalog(ctx context.Context) schema.Catalog
	// Mode returns how a namespace applies them, from memory.
	Mode(ctx context.Context, namespace string) schema.Mode
}

// Handler answers AdmissionReviews of Services and workloads.
type Handler struct {
	// Settings returns what injections need besides the pod, as it is now.
	Settings func() injection.Settings
	// Services are those known now.
	Services Services
	// Schemas judge what is declared; nil for none.
	Schemas Schemas
}

// ServeHTTP answers one AdmissionReview. A dry run has the same answer, since no answer
// has another effect.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review.Handler[object]{Concerns: concerns, Read: readObject, Judge: h.judge}.ServeHTTP(w, r)
}

func concerns(r *review.Request[object]) bool {
	return (r.Operation == review.Create || r.Operation == review.Update) && r.SubResource == ""
}

func readObject(c *scan.Cursor, o *object) { c.Decode(o) }

func (h *Handler) judge(r *review.Request[object]) review.Answer {
	now := r.Object
	_, made := now.Metadata.Controller()
	if made || now.Metadata.DeletionTimestamp != "" {
		return review.Answer{} // its maker was judged, or there is nothing left to mend
	}
	if path := templatePath(r.Kind.Kind); path != "" {
		return h.judgeWorkload(r, path)
	}
	l := h.policy(namespaceOf(r))
	if r.Kind.Kind == "Pod" {
		return answer(r, l.findings(now.bare(), r.OldObject.bare(), r.Operation), nil)
	}
	return answer(r, l.findings(now.service(), r.OldObject.service(), r.Operation), nil)
}

// policy returns what objects of a namespace are judged by.
func (h *Handler) policy(namespace string) namespacePolicy {
	l := namespacePolicy{mode: schema.Off, agent: h.Settings().Config.Agent}
	if h.Schemas != nil {
		ctx := context.Background() // memory has no deadline
		l.interfaces, l.mode = h.Schemas.Catalog(ctx), h.Schemas.Mode(ctx, namespace)
	}
	return l
}

func namespaceOf(r *review.Request[object]) string {
	return cmp.Or(r.Namespace, r.Object.Metadata.Namespace)
}

// judgeWorkload judges a workload and its template, and copies keys of the workload to
// the template.
func (h *Handler) judgeWorkload(r *review.Request[object], path string) review.Answer {
	namespace := namespaceOf(r)
	services := h.Services.Declaring(namespace)
	w := r.Object.workload(path)
	w.Frozen = r.Kind.Kind == "Job" && r.Operation == review.Update
	after, operations, told := injection.Copies(w, services)
	if len(operations) > 0 && !r.Object.templateHasMetadata() {
		operations = append([]jsonpatch.Operation{{Op: "add", Path: path + "/metadata", Value: []byte("{}")}}, operations...)
	}
	// An earlier copy of the workload's keys, or of a Service that has changed since, is not a fault of the template.
	before, _, _ := injection.Copies(r.OldObject.workload(path), services)
	found := h.policy(namespace).findings(r.Object.places(path, after, services), r.OldObject.places(path, before, services), r.Operation)
	pods := w.Template
	pods.Metadata.Annotations = after
	preview := injection.Preview(h.Settings(), namespace, &pods)
	for _, p := range slices.Concat(told, preview, injection.Nameless(r.Kind.Kind, after)) {
		found = append(found, inTemplate(path, p))
	}
	return answer(r, found, operations)
}

// inTemplate places a problem of a pod in the workload's template.
func inTemplate(path string, p application.Problem) finding {
	if strings.HasPrefix(p.Key, "spec.") {
		p.Key = pointerToField(path) + "." + p.Key
		return finding{Problem: p}
	}
	return finding{Problem: p, path: pointerToField(path) + ".metadata.annotations"}
}

func answer(r *review.Request[object], found []finding, operations []jsonpatch.Operation) review.Answer {
	if refused := refusals(found); refused != nil {
		glog.Infof("refused %s %s/%s: %v", r.Kind.Kind, r.Namespace, r.Object.Metadata.Name, refused)
		return review.Answer{Refused: refused, Warnings: review.Texts(warnings(found)), Audit: audit("refused")}
	}
	a := review.Answer{Patch: operations, Warnings: review.Texts(warnings(found))}
	if len(operations) > 0 {
		a.Audit = audit("copied " + r.Object.Metadata.Annotations[application.KeyConsumes])
		glog.V(1).Infof("copied consumer keys of %s %s/%s to its pod template", r.Kind.Kind, r.Namespace, r.Object.Metadata.Name)
	}
	return a
}

func audit(text string) map[string]string { return map[string]string{"declaration": text} }
