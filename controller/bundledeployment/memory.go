package bundledeployment

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// memories has the memory of each deployment.
type memories struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*memory
}

// memory keeps what this process has found out about one deployment. It may be empty. Only the
// deployment's own reconcile uses it.
type memory struct {
	uid types.UID
	// contents were rendered from this content and input, at a time.
	contents contents
	content  supply.Digest
	input    supply.Digest
	at       time.Time
	// annotations are those of the deployment at that time: another one has tracked sources fetched.
	annotations map[string]string
	// stop was published last, for this generation; 0 if nothing was.
	stop       *domain.Stop
	generation int64
	// failing is since when reconciles end with an error; zero if the last one did not.
	failing time.Time
	// run caches the revision under way.
	run bundle.Cache
	// revisions are those that are published; nil if they were not read.
	revisions map[int]publishedRevision
}

// of returns the memory of a deployment.
func (m *memories) of(d *v1alpha1.BundleDeployment) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
	if one := m.known[name]; one != nil && one.uid == d.UID {
		return one
	}
	if m.known == nil {
		m.known = map[types.NamespacedName]*memory{}
	}
	m.known[name] = &memory{uid: d.UID}
	return m.known[name]
}

func (m *memories) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, name)
}
