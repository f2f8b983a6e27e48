package pod

import (
	"net/http"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
)

// Handler answers AdmissionReviews of pods.
type Handler struct {
	// Settings returns what injections need besides the pod, as it is now.
	Settings func() injection.Settings
	// Observe hears of every outcome: Injected, Refused or an
	// injection.SkipReason. It may be nil.
	Observe func(outcome string)
}

// The outcomes that are not an injection.SkipReason.
const (
	Injected = "Injected"
	Refused  = "Refused"
)

// auditKey is the name of the audit annotation, after the webhook's
// (INJECTION.md I1).
const auditKey = "injection"

// ServeHTTP answers one AdmissionReview. It reads the few fields it needs and
// answers with operations that only add: a typed round trip would drop fields
// newer than this binary.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review.Handler[injection.Shape]{Concerns: concerns, Read: readShape, Judge: h.judge}.ServeHTTP(w, r)
}

// concerns tells the one call in which containers can be added from all others
// (INJECTION.md I12).
func concerns(r *review.Request[injection.Shape]) bool {
	return r.Operation == review.Create && r.SubResource == "" && r.Resource.Resource == "pods" && r.Resource.Group == ""
}

func (h *Handler) judge(r *review.Request[injection.Shape]) review.Answer {
	namespace := r.Namespace
	if namespace == "" {
		namespace = r.Object.Metadata.Namespace
	}
	d := injection.For(h.Settings(), namespace, &r.Object)
	answer := review.Answer{Warnings: review.Texts(d.Told)}
	switch {
	case d.Refused != nil:
		answer.Refused = d.Refused
		h.tell(namespace, r, Refused, d.Refused.Error(), &answer)
	case d.Injection == nil:
		answer.Warnings = append(answer.Warnings, h.warned(r, d.Skip)...)
		h.tell(namespace, r, string(d.Skip.Reason), d.Skip.Message, &answer)
	default:
		answer.Patch = injection.Operations("", &r.Object, d.Injection)
		h.tell(namespace, r, Injected, "", &answer)
	}
	return answer
}

// warned returns the warnings for the author of a skipped pod: none for a second call or a requested skip, and none
// for a pod that a controller made, whose warnings have no reader.
func (h *Handler) warned(r *review.Request[injection.Shape], skip injection.Skip) []string {
	_, made := r.Object.Metadata.Controller()
	if made || skip.Reason == injection.AlreadyInjected || skip.Reason == injection.OptedOut ||
		skip.Reason == injection.Undeclared || skip.Reason == injection.MirrorPod {
		return nil
	}
	return []string{"not injected: " + skip.Message}
}

// tell writes the outcome to the audit log and the log. Warnings for pods that controllers make have no reader, so
// problems go there too.
func (h *Handler) tell(namespace string, r *review.Request[injection.Shape], outcome, message string, answer *review.Answer) {
	h.observe(outcome)
	text := outcome
	if message != "" {
		text += ": " + message
	}
	answer.Audit = map[string]string{auditKey: text}
	if len(answer.Warnings) > 0 {
		answer.Audit["told"] = answer.Warnings[0]
	}
	if glog.V(1) {
		glog.Infof("%s: %s", described(namespace, r), text)
	}
}

func (h *Handler) observe(outcome string) {
	if h.Observe != nil {
		h.Observe(outcome)
	}
}

// described names a pod that may have no name yet (INJECTION.md I7).
func described(namespace string, r *review.Request[injection.Shape]) string {
	m := r.Object.Metadata
	name := "pod " + namespace + "/" + m.Name
	if m.Name == "" {
		name = "pod " + namespace + "/" + m.GenerateName + "…"
	}
	if owner, made := m.Controller(); made {
		name += " of " + owner.Kind + " " + owner.Name
	}
	if r.DryRun {
		name += " (dry run)"
	}
	if consumes := m.Annotations[application.KeyConsumes]; consumes != "" {
		name += " consumes " + consumes
	}
	return name
}
