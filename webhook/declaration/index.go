package declaration

import (
	"maps"
	"slices"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Index holds the Services that declare what their pods consume, and no others: few do.
// An informer fills it; it is empty until then.
type Index struct {
	lock       sync.RWMutex
	namespaces map[string]map[string]injection.Service
}

var _ Services = (*Index)(nil)

// See stores a Service as it is now.
func (x *Index) See(namespace string, s injection.Service) {
	if _, declares := s.Annotations[application.KeyConsumes]; !declares {
		x.Forget(namespace, s.Name)
		return
	}
	x.lock.Lock()
	defer x.lock.Unlock()
	if x.namespaces == nil {
		x.namespaces = map[string]map[string]injection.Service{}
	}
	if x.namespaces[namespace] == nil {
		x.namespaces[namespace] = map[string]injection.Service{}
	}
	x.namespaces[namespace][s.Name] = s
}

// Forget removes a Service.
func (x *Index) Forget(namespace, name string) {
	x.lock.Lock()
	defer x.lock.Unlock()
	delete(x.namespaces[namespace], name)
}

// Declaring returns the Services of a namespace that declare what their pods consume.
func (x *Index) Declaring(namespace string) []injection.Service {
	x.lock.RLock()
	defer x.lock.RUnlock()
	return slices.Collect(maps.Values(x.namespaces[namespace]))
}
