package declaration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
)

// Outside answers AdmissionReviews of namespaces that have not opted in. It admits every
// object as it is and warns that its declaration has no effect, with the reason
// (INJECTION.md I1).
type Outside struct {
	// Settings returns what injections need besides the pod, as it is now.
	Settings func() injection.Settings
}

// ServeHTTP answers one AdmissionReview.
func (h *Outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review.Handler[object]{Concerns: concerns, Read: readObject, Judge: h.judge}.ServeHTTP(w, r)
}

func (h *Outside) judge(r *review.Request[object]) review.Answer {
	_, made := r.Object.Metadata.Controller()
	if made || r.Object.Metadata.DeletionTimestamp != "" {
		return review.Answer{} // no person sees the warning
	}
	now, before := declares(&r.Object, r.Kind.Kind), declares(&r.OldObject, r.Kind.Kind)
	if len(now) == 0 || r.Operation == review.Update && slices.Equal(now, before) {
		return review.Answer{}
	}
	said := now[0].finding
	said.Reason, said.Cure = h.why(r.Namespace)
	return review.Answer{Warnings: review.Texts([]finding{said}), Audit: audit("namespace has not opted in")}
}

// why returns why nothing declared in the namespace counts, and the cure.
func (h *Outside) why(namespace string) (reason, cure string) {
	if namespace == h.Settings().Namespace {
		return fmt.Sprintf("it has no effect, because Orcon itself runs in namespace %s", namespace), "declare it in another namespace"
	}
	return fmt.Sprintf("it has no effect, because namespace %s has not opted in", namespace),
		fmt.Sprintf("label the namespace %s=%s", application.LabelOptIn, application.OptedIn)
}

// declared is a key that declares something, and its value.
type declared struct {
	finding
	value string
}

// declares lists what an object and its pod template declare, in order.
func declares(o *object, kind string) []declared {
	places := o.service()
	if path := templatePath(kind); path != "" {
		places = o.places(path, o.workload(path).Template.Metadata.Annotations, nil)
	}
	var all []declared
	for _, p := range places {
		for _, key := range slices.Sorted(maps.Keys(union(p.labels, p.annotations))) {
			if application.Declares(key) && p.wrote(key) {
				all = append(all, declared{finding{Problem: application.Problem{Key: key, Warning: true}, path: p.field(key)}, p.value(key)})
			}
		}
	}
	return all
}
