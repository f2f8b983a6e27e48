package bundledeployment

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Watches reports when something else changes objects of deployments (Reconciler.Changed).
type Watches interface {
	// Watch watches objects of a deployment (namespace/name) by an account from now on, and no
	// others of it. It returns the permissions that the account lacks for that, as far as they are
	// known.
	Watch(account, owner string, objects []domain.ID) []domain.Permission
	// Forget ends the watches of a deployment.
	Forget(owner string)
}

const (
	// settling is how long a deployment is left alone after a change: changes seldom come alone.
	settling = time.Second
	// spacing is the least time between two looks for changes: an object that always changes
	// must not keep the workers from others.
	spacing = 4 * time.Second
)

// looks are the times at which deployments are looked at because something has changed.
type looks struct {
	mu  sync.Mutex
	due map[types.NamespacedName]time.Time
}

// after returns how long it is until the look that follows a change.
func (l *looks) after(name types.NamespacedName, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.due[name]
	if !due.After(now) {
		due = due.Add(spacing)
		if soon := now.Add(settling); due.Before(soon) {
			due = soon
		}
		if l.due == nil {
			l.due = map[types.NamespacedName]time.Time{}
		}
		l.due[name] = due
	}
	return due.Sub(now)
}

func (l *looks) forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.due, name)
}

// Changed has a deployment (namespace/name) looked at soon, since an object of it has changed.
func (r *Reconciler) Changed(owner string) {
	namespace, name, _ := strings.Cut(owner, "/")
	deployment := types.NamespacedName{Namespace: namespace, Name: name}
	r.enqueue(deployment, r.looks.after(deployment, r.Now()))
}

// unwatch ends the watches of a deployment.
func (r *Reconciler) unwatch(name types.NamespacedName) {
	if r.Watches != nil {
		r.Watches.Forget(name.String())
	}
	r.looks.forget(name)
}

// watched watches all that a deployment made, once its newest revision has succeeded, and returns
// the permissions that the account lacks for that.
func watched(w Watches, d *v1alpha1.BundleDeployment, record domain.Record) []domain.Permission {
	if w == nil || record.Begun().State != domain.StateSucceeded {
		return nil
	}
	var objects []domain.ID
	for _, e := range record.Inventory {
		objects = append(objects, e.ID)
	}
	return w.Watch(convert.Account(d), convert.Owner(d), objects)
}
