// Package fleet is the loop that keeps IntegrationSets: it has their data fetched, reads what they declare, and stamps
// a BundleDeployment for each integration and namespace (FLEET.md).
//
// A reconcile does what can be done at once and returns when to look again. What a set has stamped is known from the
// labels and annotations of its members: any replica goes on from there.
//
// What must not come in: a decision about members, which are domain/fleet's, or a write to anything but Orcon's own
// kinds.
package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// Inputs are the objects of a set's namespace that its data come from, as the set's account sees them.
type Inputs interface {
	// Credentials returns what a Secret says about a server.
	Credentials(ctx context.Context, secret string) (bundle.Credentials, error)
	// Files returns the content of ConfigMaps.
	Files(ctx context.Context, configMaps []string) (bundle.Tree, error)
}

// Reconciler keeps IntegrationSets.
type Reconciler struct {
	// Client reads and writes Orcon's own kinds, from the cache where it has them.
	Client client.Client
	// Reader reads what was written a moment ago.
	Reader client.Reader
	// Connect returns what the account of a set sees, by its user name.
	Connect func(account, owner string) (Inputs, error)
	// Running returns the images of a namespace's workloads, without those that have no replicas, whose containers have a
	// value of an environment variable, by workload and as an account sees them. It is used where Self is set.
	Running func(ctx context.Context, account, namespace, variable, value string) (map[string]string, error)
	// Contents fetches what sources name.
	Contents *content.Isolated
	// Places bounds how much of that happens at a time.
	Places queue.Limits
	Events events.EventRecorder
	Now    func() time.Time
	// Resync is the time between two looks at a settled set, and between two fetches of tracked sources.
	Resync time.Duration

	Settings
	feeds
}

// feeds holds the reads that a reconciler has under way, and their results.
type feeds struct {
	start sync.Once
	pool  *supply.Pool
	// enqueue has a set reconciled; nil before Setup.
	enqueue  func(types.NamespacedName)
	memories memories
}

// look is one reconcile of a set.
type look struct {
	feed

	// said is the set as it was read.
	said   *v1alpha1.IntegrationSet
	result integrationset.Result
	// refusals reports that the API server has refused a step.
	refusals bool
	// elsewhere counts entries of other clusters.
	elsewhere int
	// images are the commits that the members' images are built from.
	images []v1alpha1.IntegrationCommit
}

// Reconcile does what can be done for one set within seconds.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.start.Do(func() {
		r.pool = supply.New(r.Places, r.found)
	})
	defer r.pool.Use(req.NamespacedName)()
	var set v1alpha1.IntegrationSet
	if err := r.Client.Get(ctx, req.NamespacedName, &set); err != nil {
		r.pool.Forget(req.NamespacedName)
		r.memories.forget(req.NamespacedName)
		unmeasure(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	l := &look{feed: feed{Reconciler: r, set: &set, memory: r.memories.of(req.NamespacedName)}, said: set.DeepCopy()}
	if !set.DeletionTimestamp.IsZero() {
		unmeasure(req.NamespacedName)
		again, err := l.leave(ctx)
		return reconcile.Result{RequeueAfter: again}, err
	}
	before := set.DeepCopy()
	set.State.DeletionPolicy = set.Spec.DeletionPolicy
	if controllerutil.AddFinalizer(&set, v1alpha1.Finalizer) || set.State.DeletionPolicy != before.State.DeletionPolicy {
		if err := r.Client.Patch(ctx, &set, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("cannot add the finalizer: %w", err)
		}
		l.said = set.DeepCopy()
	}
	again, err := l.keep(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, l.publish(ctx)
}

// found has a set reconciled whose data were fetched, or a ref looked up: its name follows that of the set.
func (r *Reconciler) found(name types.NamespacedName) {
	if r.enqueue != nil {
		name.Name, _, _ = strings.Cut(name.Name, "/")
		r.enqueue(name)
	}
}

// keep brings the members to what the data declare, as far as that is possible now, and returns when to look again.
func (l *look) keep(ctx context.Context) (time.Duration, error) {
	if stop, err := l.refused(ctx); stop != nil || err != nil {
		l.result.Stop = stop
		return l.Resync, err
	}
	d, stop := l.declared(ctx)
	if stop != nil {
		l.result.Stop = stop
		if stop.Person {
			return l.Resync, nil
		}
		return retry, nil
	}
	if err := l.stamp(ctx, d); err != nil {
		return 0, err
	}
	switch {
	case l.early, len(l.result.Steps) > 0 && l.result.Stop == nil:
		return soon, nil
	case l.result.Stop != nil, l.refusals:
		return min(retry, l.Resync), nil
	}
	return l.Resync, nil
}

const (
	// retry is after how long sources that failed are fetched again.
	retry = 30 * time.Second
	// soon is after how long the effect of writes is looked at, beside what members report, and a fetch begins again.
	soon = 2 * time.Second
)

func paused() *integrationset.Stop {
	return &integrationset.Stop{Reason: integrationset.Paused, Message: "paused by spec.paused", Person: true}
}

// refused returns the stop of a set that may not write.
func (l *look) refused(ctx context.Context) (*integrationset.Stop, error) {
	if l.set.Spec.Paused {
		return paused(), nil
	}
	var namespace corev1.Namespace
	if err := l.Client.Get(ctx, client.ObjectKey{Name: l.set.Namespace}, &namespace); err != nil {
		return nil, fmt.Errorf("cannot read which approvals the namespace requires: %w", err)
	}
	requester := bundlev1alpha1.RequesterKey
	if (bundle.Gate{}).Within(namespace.Annotations).FourEyes && l.set.Annotations[requester] == "" {
		return &integrationset.Stop{Reason: integrationset.SelfApproval, Person: true, Message: fmt.Sprintf(
			"annotation %s of namespace %s forbids that users approve their own changes, and the set does not name the user who requests "+
				"those of its members: kubectl annotate integrationset %s -n %[2]s %[4]s=YOUR-USER-NAME (kubectl auth whoami shows it)",
			bundle.SelfApprovalKey, namespace.Name, l.set.Name, requester)}, nil
	}
	return nil, nil //nolint:nilnil // nothing stops the set
}
