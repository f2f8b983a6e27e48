package fleet

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// member describes an integration in a namespace, as the data declare it.
type member struct {
	integrationset.Key
	// namespace is the name of the namespace in the cluster.
	namespace string
	// file and line locate the entry.
	file      string
	line      int
	workloads int
	wave      int
	// own reports that the controller itself runs as this member.
	own        bool
	values     []byte
	canaries   []string
	parameters map[string]bundle.BundleParameter
}

// declared holds the members of a set, as the data declare them.
type declared struct {
	members []member
	// presence reports whether an integration's file names a namespace, and held whether an error prevents an answer.
	presence func(file, namespace string) data.Presence
	held     func(file, namespace string) bool
	// idle are the members for which the chart renders nothing, and faulty those whose entry has an error.
	idle, faulty map[integrationset.Key]bool
	// waits says of members why their image is unknown so far.
	waits map[integrationset.Key]string
}

// decides reports whether there is something to decide about a member that is not wanted.
func (d declared) decides(file string, m integrationset.Standing) bool {
	if d.faulty[m.Key] {
		return false
	}
	claimed := m.Claimed || len(m.Claims) > 0 && !d.held(file, m.Namespace)
	return claimed || m.Set == "" && (d.idle[m.Key] || d.presence(file, m.Namespace) == data.Absent)
}

// stamp makes, changes and deletes members as the decision says, and notes what it was.
func (l *look) stamp(ctx context.Context, d declared) error {
	standing, err := membersOf(l.set, l.Client, l.Self).standing(ctx)
	if err != nil {
		return err
	}
	wanted := map[integrationset.Key]*bundle.BundleDeployment{}
	s := integrationset.Situation{Guard: guard(l.set.Spec.Guard), MaxUnavailable: int(l.set.Spec.MaxUnavailable)}
	for _, m := range d.members {
		made := deployment(l.set, m)
		made.Annotations[v1alpha1.DataKey] = strings.Join(l.memory.resolved, " ") // not in the digest: it alone changes nothing
		wanted[m.Key] = made
		s.Wanted = append(s.Wanted, integrationset.Wanted{
			Key: m.Key, Digest: made.Annotations[v1alpha1.DigestKey], Workloads: m.workloads, Wave: m.wave, Own: m.own, Waits: d.waits[m.Key],
		})
	}
	for k, one := range standing {
		if wanted[k] != nil || d.decides(file(one.deployment), one.Standing) {
			s.Standing = append(s.Standing, one.Standing)
		}
	}
	if err := l.decide(ctx, s, targets(d.members, standing)); err != nil || l.result.Stop != nil {
		return err
	}
	return l.write(ctx, wanted, standing)
}

// write does the steps of the decision. A step that the API server refuses becomes a wait, and holds no other up (FLEET.md
// O1).
func (l *look) write(
	ctx context.Context, wanted map[integrationset.Key]*bundle.BundleDeployment, standing map[integrationset.Key]standing,
) error {
	var done []integrationset.Step
	for _, step := range l.result.Steps {
		err := l.carryOut(ctx, step, wanted[step.Key], standing[step.Key])
		switch {
		case refusal(err):
			l.refusals = true
			l.result.Waits = append(l.result.Waits, integrationset.Wait{Key: step.Key, Person: true, Why: fmt.Sprintf(
				"the API server refuses to %s it: %v: remove the reason; it is tried again every %s", step.Verb, err, retry)})
		case err != nil:
			return fmt.Errorf("cannot %s the member for %s: %w", step.Verb, step.Key, err)
		default:
			done = append(done, step)
		}
	}
	l.result.Steps = done
	return nil
}

// refusal reports whether an error is that the API server, a quota or a policy refuses one member.
func refusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// decide notes what is to be done in a situation, with what a person has confirmed, and the stop of a set that may only
// plan it for members in these namespaces.
func (l *look) decide(ctx context.Context, s integrationset.Situation, namespaces []string) (err error) {
	s.Confirmed, s.LastConfirmed = l.confirmed(s), l.set.State.LastConfirmed
	s.Command = fmt.Sprintf("kubectl annotate integrationset %s -n %s --overwrite %s=", l.set.Name, l.set.Namespace, v1alpha1.ConfirmKey)
	l.result.Situation, l.result.Decision = s, integrationset.Decide(s)
	if !l.DryRun {
		if err := l.confirm(ctx, s); err != nil {
			return err
		}
	}
	p := preview{Settings: l.Settings, spec: l.set.Spec, steps: l.result.Steps, running: func(namespace string) (map[string]string, error) {
		return l.Running(ctx, l.account(), namespace, nameVariable, l.Self.Integration)
	}}
	l.result.Stop, err = p.stop(namespaces)
	return err
}

// carryOut does one step. A BundleDeployment that has the name of a member and is of no set stays.
func (l *look) carryOut(ctx context.Context, step integrationset.Step, wanted *bundle.BundleDeployment, standing standing) error {
	now, members := standing.deployment, membersOf(l.set, l.Client, l.Self)
	switch step.Verb {
	case integrationset.Create:
		err := l.Client.Create(ctx, wanted)
		if apierrors.IsAlreadyExists(err) {
			return l.occupied(ctx, step.Key, wanted.Name)
		}
		return err
	case integrationset.Update:
		return members.patch(ctx, now, func(after *bundle.BundleDeployment) {
			after.Spec = wanted.Spec
			maps.Copy(after.Annotations, wanted.Annotations)
		})
	case integrationset.Delete:
		if len(now.Spec.Prune.ConfirmKinds) > 0 { // what a person has confirmed for the member holds for its objects
			return members.patch(ctx, now, func(after *bundle.BundleDeployment) { after.Spec.Prune.ConfirmKinds = nil })
		}
		return client.IgnoreNotFound(l.Client.Delete(ctx, now, client.Preconditions{UID: &now.UID, ResourceVersion: &now.ResourceVersion}))
	case integrationset.Claim:
		return members.contend(ctx, now)
	case integrationset.Withdraw:
		return members.patch(ctx, now, func(after *bundle.BundleDeployment) { delete(after.Annotations, members.claim()) })
	case integrationset.HandOver:
		return members.handOver(ctx, now, standing.Claims[0])
	}
	return nil
}

// occupied deals with the name of a member that a BundleDeployment has already.
func (l *look) occupied(ctx context.Context, k integrationset.Key, name string) error {
	var other bundle.BundleDeployment
	if err := l.Reader.Get(ctx, client.ObjectKey{Namespace: l.set.Namespace, Name: name}, &other); err != nil {
		return client.IgnoreNotFound(err)
	}
	m := membersOf(l.set, l.Client, l.Self).stands(&other)
	switch {
	case m.Key != k || m.Digest == "":
		l.result.Waits = append(l.result.Waits, integrationset.Wait{Key: k, Person: true, Why: fmt.Sprintf(
			"BundleDeployment %s exists, and no set made it: delete or rename it", name)})
	case other.Labels[v1alpha1.SetLabel] == "": // a deleted set left it
		return membersOf(l.set, l.Client, l.Self).patch(ctx, &other, func(after *bundle.BundleDeployment) {
			metav1.SetMetaDataLabel(&after.ObjectMeta, v1alpha1.SetLabel, l.set.Name)
		})
	} // else the cache has not seen it yet
	return nil
}

// deployment returns the BundleDeployment of a member.
func deployment(set *v1alpha1.IntegrationSet, m member) *bundle.BundleDeployment {
	spec := set.Spec
	d := &bundle.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: integrationset.Name(set.Name, m.Key),
			Labels: map[string]string{v1alpha1.SetLabel: set.Name},
			Annotations: map[string]string{
				v1alpha1.FileKey: m.file, v1alpha1.LineKey: strconv.Itoa(m.line), v1alpha1.NamespaceKey: m.Namespace,
				v1alpha1.IntegrationKey: m.Integration, v1alpha1.WorkloadsKey: strconv.Itoa(m.workloads),
			},
		},
		Spec: bundle.BundleDeploymentSpec{
			Sources: spec.Chart.Sources, Format: spec.Chart.Format, ServiceAccountName: spec.ServiceAccountName, Conflicts: spec.Conflicts,
			Canaries: m.canaries, Prune: bundle.BundlePrune{KindChange: string(domain.DeleteFirst)},
			Render: bundle.BundleRender{
				Path: spec.Chart.Path, InstallNamespace: m.namespace, Values: &runtime.RawExtension{Raw: m.values}, Parameters: m.parameters,
				UnknownParameters: bundle.UnknownParametersIgnore,
			},
		},
	}
	if m.own { // a version that does not start leaves the pods of the one before, and no change deletes these first
		d.Spec.Rollback.OnFailure = bundle.OnFailureKeep
		d.Spec.Prune = bundle.BundlePrune{ConfirmKinds: []string{"CronJob", "Deployment", "StatefulSet"}}
	}
	if m.Integration == "" { // a chart need not have what a namespace shares
		d.Spec.Render.EmptyContent = bundle.EmptyContentAllow
	}
	if spec.Approval == v1alpha1.ApprovalSet {
		d.Spec.Approval.Mode = string(domain.ByDigest)
	}
	digest := supply.Sum(d.Spec, d.Annotations)
	d.Annotations[v1alpha1.DigestKey] = hex.EncodeToString(digest[:])
	if requester := set.Annotations[bundle.RequesterKey]; requester != "" { // no part of the digest: sets that share a member may differ in it
		d.Annotations[bundle.RequesterKey] = requester
	}
	return d
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
