package views

import (
	"sync"

	toolscache "k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// holdings sums up what applications and namespaces hold, as the informers report it.
type holdings struct {
	mu sync.Mutex
	// of has the sum of each application, by object.AtEnd; that of a namespace is under its application "".
	of map[string]budget.Holding
}

// Holdings returns what an application and its namespace hold (TRUST.md U1).
func (h *holdings) Holdings(namespace, application string) (ofApplication, ofNamespace budget.Holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[object.AtEnd(namespace, application)], h.of[object.AtEnd(namespace, "")]
}

// handler returns what sums up the events of an informer.
func (h *holdings) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { h.change(nil, o) },
		UpdateFunc: h.change,
		DeleteFunc: func(o any) { h.change(o, nil) },
	}
}

// change replaces an object in the sums; nil for none.
func (h *holdings) change(before, after any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]budget.Holding{}
	}
	was, is := holdingOf(before), holdingOf(after)
	for _, key := range was.keys {
		h.of[key] = h.of[key].Minus(was.Holding)
		if h.of[key] == (budget.Holding{}) {
			delete(h.of, key)
		}
	}
	for _, key := range is.keys {
		h.of[key] = h.of[key].Plus(is.Holding)
	}
}

// held has the count of an object, and the keys of its sums.
type held struct {
	budget.Holding

	keys []string
}

func holdingOf(event any) held {
	o, _ := objectOf(event)
	switch typed := o.(type) {
	case *v1alpha1.Databag:
		counts := budget.Holding{Bags: 1, Bytes: databag.Size(typed.State.Data)}
		if typed.Spec.Purpose == v1alpha1.PurposeOutbox {
			counts = budget.Holding{Outboxes: 1}
		}
		return held{counts, sums(typed.Namespace, typed.Spec.Application)}
	case *v1alpha1.RelatedSecret:
		return held{budget.Holding{Secrets: 1}, sums(typed.Namespace, typed.Spec.Application)}
	}
	return held{}
}

// sums returns the keys of the sums of an application and of its namespace.
func sums(namespace, application string) []string {
	return []string{object.AtEnd(namespace, application), object.AtEnd(namespace, "")}
}
