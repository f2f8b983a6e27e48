package fleet

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// member describes an integration in a namespace, as the data declare it.
type member struct {
	integrationset.Key
	// namespace is the name of the namespace in the cluster.
	namespace string
	// file and line locate the entry.
	file       string
	line       int
	workloads  int
	wave       int
	values     []byte
	parameters map[string]bundle.BundleParameter
}

// declared holds the members of a set, as the data declare them.
type declared struct {
	members []member
	// presence reports whether an integration's file names a namespace.
	presence func(file, namespace string) data.Presence
}

// stamp makes, changes and deletes members as the decision says, and notes what it was.
func (l *look) stamp(ctx context.Context, d declared) error {
	var all bundle.BundleDeploymentList
	if err := l.Client.List(ctx, &all, client.InNamespace(l.set.Namespace), client.MatchingLabels{v1alpha1.SetLabel: l.set.Name}); err != nil {
		return fmt.Errorf("cannot list members: %w", err)
	}
	wanted, standing := map[integrationset.Key]*bundle.BundleDeployment{}, map[integrationset.Key]*bundle.BundleDeployment{}
	s := integrationset.Situation{Guard: guard(l.set.Spec.Guard), MaxUnavailable: int(l.set.Spec.MaxUnavailable)}
	for _, m := range d.members {
		made := l.deployment(m)
		wanted[m.Key] = made
		s.Wanted = append(s.Wanted, integrationset.Wanted{
			Key: m.Key, Digest: made.Annotations[v1alpha1.DigestKey], Workloads: m.workloads, Wave: m.wave,
		})
	}
	for i := range all.Items {
		m := stands(&all.Items[i])
		if all.Items[i].Name != integrationset.Name(l.set.Name, m.Key) {
			continue // it was labelled by hand
		}
		if wanted[m.Key] != nil || d.presence(file(&all.Items[i]), m.Namespace) == data.Absent {
			standing[m.Key] = &all.Items[i]
			s.Standing = append(s.Standing, m)
		}
	}
	s.Confirmed, s.LastConfirmed = l.confirmed(s), l.set.State.LastConfirmed
	l.result.Situation, l.result.Decision = s, integrationset.Decide(s)
	if err := l.confirm(ctx, s); err != nil {
		return err
	}
	if l.readOnly() {
		return nil
	}
	for _, step := range l.result.Steps {
		if err := l.carryOut(ctx, step, wanted[step.Key], standing[step.Key]); err != nil {
			return err
		}
	}
	return nil
}

// carryOut makes, changes or deletes one member. A BundleDeployment that has its name and is not of this set stays.
func (l *look) carryOut(ctx context.Context, step integrationset.Step, wanted, standing *bundle.BundleDeployment) error {
	var err error
	switch step.Verb {
	case integrationset.Create:
		err = l.Client.Create(ctx, wanted)
		if apierrors.IsAlreadyExists(err) {
			return l.occupied(ctx, step.Key, wanted.Name)
		}
	case integrationset.Update:
		after := standing.DeepCopy()
		after.Spec = wanted.Spec
		maps.Copy(after.Annotations, wanted.Annotations)
		err = l.Client.Patch(ctx, after, client.MergeFromWithOptions(standing, client.MergeFromWithOptimisticLock{}))
	case integrationset.Delete:
		err = client.IgnoreNotFound(l.Client.Delete(ctx, standing, client.Preconditions{UID: &standing.UID, ResourceVersion: &standing.ResourceVersion}))
	}
	if err != nil {
		return fmt.Errorf("cannot %s the member for %s: %w", step.Verb, step.Key, err)
	}
	return nil
}

// occupied notes that the name of a member is taken by a BundleDeployment that this set did not make.
func (l *look) occupied(ctx context.Context, k integrationset.Key, name string) error {
	var other bundle.BundleDeployment
	if err := l.Reader.Get(ctx, client.ObjectKey{Namespace: l.set.Namespace, Name: name}, &other); err != nil {
		return client.IgnoreNotFound(err)
	}
	// A member that a deleted set of this name left is taken up again.
	m := stands(&other)
	if other.Labels[v1alpha1.SetLabel] == "" && m.Key == k && m.Digest != "" {
		before := other.DeepCopy()
		metav1.SetMetaDataLabel(&other.ObjectMeta, v1alpha1.SetLabel, l.set.Name)
		return client.IgnoreNotFound(l.Client.Patch(ctx, &other, client.MergeFrom(before)))
	}
	if other.Labels[v1alpha1.SetLabel] != l.set.Name { // else the cache had not seen it yet
		l.result.Waits = append(l.result.Waits, integrationset.Wait{Key: k, Why: fmt.Sprintf(
			"BundleDeployment %s exists, and the set did not make it: delete or rename it", name)})
	}
	return nil
}

// deployment returns the BundleDeployment of a member.
func (l *look) deployment(m member) *bundle.BundleDeployment {
	spec := l.set.Spec
	d := &bundle.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.set.Namespace, Name: integrationset.Name(l.set.Name, m.Key),
			Labels: map[string]string{v1alpha1.SetLabel: l.set.Name},
			Annotations: map[string]string{
				v1alpha1.FileKey: m.file, v1alpha1.LineKey: strconv.Itoa(m.line), v1alpha1.NamespaceKey: m.Namespace,
				v1alpha1.IntegrationKey: m.Integration, v1alpha1.WorkloadsKey: strconv.Itoa(m.workloads),
			},
		},
		Spec: bundle.BundleDeploymentSpec{
			Sources: spec.Chart.Sources, Format: spec.Chart.Format, ServiceAccountName: spec.ServiceAccountName, Conflicts: spec.Conflicts,
			Render: bundle.BundleRender{
				Path: spec.Chart.Path, InstallNamespace: m.namespace, Values: &runtime.RawExtension{Raw: m.values}, Parameters: m.parameters,
				UnknownParameters: bundle.UnknownParametersIgnore,
			},
		},
	}
	digest := supply.Sum(d.Spec, d.Annotations)
	d.Annotations[v1alpha1.DigestKey] = hex.EncodeToString(digest[:])
	return d
}

// file returns the file of the integration of a member; "", any file, for what a namespace shares.
func file(d *bundle.BundleDeployment) string {
	if d.Annotations[v1alpha1.IntegrationKey] == "" {
		return ""
	}
	return d.Annotations[v1alpha1.FileKey]
}

// stands returns what a member is now.
func stands(d *bundle.BundleDeployment) integrationset.Standing {
	m := integrationset.Standing{
		Key:    integrationset.Key{Integration: d.Annotations[v1alpha1.IntegrationKey], Namespace: d.Annotations[v1alpha1.NamespaceKey]},
		Digest: d.Annotations[v1alpha1.DigestKey], State: integrationset.UnderWay, Ending: !d.DeletionTimestamp.IsZero(),
	}
	m.Workloads, _ = strconv.Atoi(d.Annotations[v1alpha1.WorkloadsKey]) // one that is not a number was not stamped: no workload is known
	is := func(t condition.Type) bool {
		c := meta.FindStatusCondition(d.Status.Conditions, string(t))
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == d.Generation
	}
	switch {
	case is(condition.Ready):
		m.State = integrationset.Ready
	case is(condition.Stalled):
		m.State = integrationset.Stalled
		why, _ := value.Why(d.Status.Conditions)
		m.Why = why.Message
	}
	return m
}

// The guard of a set that names none.
const (
	defaultWorkloads = 10
	defaultPercent   = 20
)

func guard(g v1alpha1.IntegrationGuard) integrationset.Guard {
	out := integrationset.Guard{Workloads: defaultWorkloads, Percent: defaultPercent}
	if g.MaxWorkloads != nil {
		out.Workloads = int(*g.MaxWorkloads)
	}
	if g.MaxPercent != nil {
		out.Percent = int(*g.MaxPercent)
	}
	return out
}

// all is the name that stands for every environment.
const all = "All"

// readOnly stops a set that may only say what it would do.
func (l *look) readOnly() bool {
	if !slices.Contains(l.set.Spec.Environments, all) || l.set.Spec.AllowWrites != "" {
		return false
	}
	count := map[integrationset.Verb]int{}
	for _, step := range l.result.Steps {
		count[step.Verb]++
	}
	l.result.Stop = &integrationset.Stop{Reason: integrationset.ReadOnly, Person: true, Message: fmt.Sprintf(
		"environments: [All] only previews: it would create %d members, update %d and delete %d: name environments, or set "+
			"spec.allowWrites: AllEnvironments", count[integrationset.Create], count[integrationset.Update], count[integrationset.Delete])}
	return true
}
