package settle

import (
	"maps"
	"slices"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// referrers has the namespaces whose applications refer to applications of others, as they were last observed.
type referrers struct {
	mutex sync.Mutex
	// refers has what each namespace refers to, and by the namespaces that refer to each application.
	refers map[string][]relation.End
	by     map[relation.End]map[string]bool
}

// observed replaces what a namespace refers to. It comes before the Offers are read: an Offer that is created later
// finds the namespace.
func (r *referrers) observed(namespace string, applications []application.Application) {
	var refers []relation.End
	for _, a := range applications {
		for _, ref := range a.Relations {
			if ref.Namespace != "" && ref.Namespace != namespace {
				refers = append(refers, relation.End{Namespace: ref.Namespace, Application: ref.Application})
			}
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.by == nil {
		r.refers, r.by = map[string][]relation.End{}, map[relation.End]map[string]bool{}
	}
	for _, to := range r.refers[namespace] {
		if delete(r.by[to], namespace); len(r.by[to]) == 0 {
			delete(r.by, to)
		}
	}
	delete(r.refers, namespace)
	for _, to := range refers {
		if r.by[to] == nil {
			r.by[to] = map[string]bool{}
		}
		r.refers[namespace], r.by[to][namespace] = refers, true
	}
}

// Referrers returns the namespaces whose applications refer to one of another namespace, in order.
func (s *Settler) Referrers(namespace, application string) []string {
	s.referrers.mutex.Lock()
	defer s.referrers.mutex.Unlock()
	return slices.Sorted(maps.Keys(s.referrers.by[relation.End{Namespace: namespace, Application: application}]))
}
