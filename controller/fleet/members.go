package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// members are those of a namespace, as one of its sets sees them.
type members struct {
	client         client.Client
	namespace, set string
	self           integrationset.Self
}

func membersOf(set *v1alpha1.IntegrationSet, c client.Client, self integrationset.Self) members {
	return members{c, set.Namespace, set.Name, self}
}

// list returns the members of all sets.
func (m members) list(ctx context.Context) ([]bundle.BundleDeployment, error) {
	var list bundle.BundleDeploymentList
	if err := m.client.List(ctx, &list, client.InNamespace(m.namespace), client.HasLabels{v1alpha1.SetLabel}); err != nil {
		return nil, fmt.Errorf("cannot list members: %w", err)
	}
	return list.Items, nil
}

// standing is a member as the cluster has it.
type standing struct {
	integrationset.Standing
	deployment *bundle.BundleDeployment
}

// standing returns the members of all sets by key. One of this set comes before another set's.
func (m members) standing(ctx context.Context) (map[integrationset.Key]standing, error) {
	all, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	own, others := map[integrationset.Key]standing{}, map[integrationset.Key]standing{}
	for i := range all {
		one := standing{m.stands(&all[i]), &all[i]}
		switch {
		case one.Digest == "" || !integrationset.Named(one.deployment.Name, one.Key): // it was labelled by hand
		case one.Set == "":
			own[one.Key] = one
		default:
			others[one.Key] = one
		}
	}
	for k, other := range others {
		one, stands := own[k]
		if !stands {
			own[k] = other
			continue
		}
		one.Claims = slices.Compact(slices.Sorted(slices.Values(append(one.Claims, other.Set))))
		own[k] = one
	}
	return own, nil
}

// file returns the file of the integration of a member; "", any file, for what a namespace shares.
func file(d *bundle.BundleDeployment) string {
	if d.Annotations[v1alpha1.IntegrationKey] == "" {
		return ""
	}
	return d.Annotations[v1alpha1.FileKey]
}

// claim is the annotation by which this set claims a member of another.
func (m members) claim() string { return v1alpha1.ClaimPrefix + m.set }

// stands returns what a member is now.
func (m members) stands(d *bundle.BundleDeployment) integrationset.Standing {
	one := integrationset.Standing{
		Key:    integrationset.Key{Integration: d.Annotations[v1alpha1.IntegrationKey], Namespace: d.Annotations[v1alpha1.NamespaceKey]},
		Digest: d.Annotations[v1alpha1.DigestKey], State: integrationset.UnderWay, Ending: !d.DeletionTimestamp.IsZero(),
		Claims: claims(d), Name: d.Name, Own: m.self.Is(d.Annotations[v1alpha1.IntegrationKey], d.Spec.Render.InstallNamespace),
	}
	if set := d.Labels[v1alpha1.SetLabel]; set != m.set {
		_, one.Claimed = d.Annotations[m.claim()]
		one.Set, one.Claims = set, nil
	}
	one.Workloads, _ = strconv.Atoi(d.Annotations[v1alpha1.WorkloadsKey]) // one that is not a number was not stamped: no workload is known
	is := func(t condition.Type) bool {
		c := meta.FindStatusCondition(d.Status.Conditions, string(t))
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == d.Generation
	}
	switch {
	case is(condition.Ready):
		one.State = integrationset.Ready
	case is(condition.Stalled):
		one.State = integrationset.Stalled
		why, _ := value.Why(d.Status.Conditions)
		one.Why = why.Message
		one.Plan = convert.Waiting(d)
	}
	return one
}

// claims returns the sets that claim a member, in order.
func claims(d *bundle.BundleDeployment) []string {
	var all []string
	for key := range d.Annotations {
		if set, found := strings.CutPrefix(key, v1alpha1.ClaimPrefix); found {
			all = append(all, set)
		}
	}
	slices.Sort(all)
	return all
}

// patch changes a member, unless another has changed it since it was read.
func (m members) patch(ctx context.Context, now *bundle.BundleDeployment, change func(*bundle.BundleDeployment)) error {
	after := now.DeepCopy()
	change(after)
	return client.IgnoreNotFound(m.client.Patch(ctx, after, client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})))
}

// exists reports whether there is a set of a name.
func (m members) exists(ctx context.Context, set string) (bool, error) {
	err := m.client.Get(ctx, client.ObjectKey{Namespace: m.namespace, Name: set}, &v1alpha1.IntegrationSet{})
	return err == nil, client.IgnoreNotFound(err)
}

// handOver gives a member to a set that claims it. The claim of a set that no longer exists ends instead.
func (m members) handOver(ctx context.Context, now *bundle.BundleDeployment, to string) error {
	exists, err := m.exists(ctx, to)
	if err != nil {
		return err
	}
	return m.patch(ctx, now, func(after *bundle.BundleDeployment) {
		delete(after.Annotations, v1alpha1.ClaimPrefix+to)
		if exists {
			metav1.SetMetaDataLabel(&after.ObjectMeta, v1alpha1.SetLabel, to)
		}
	})
}

// contend claims a member of another set, or takes it if that set no longer exists.
func (m members) contend(ctx context.Context, now *bundle.BundleDeployment) error {
	exists, err := m.exists(ctx, now.Labels[v1alpha1.SetLabel])
	if err != nil {
		return err
	}
	return m.patch(ctx, now, func(after *bundle.BundleDeployment) {
		if exists {
			metav1.SetMetaDataAnnotation(&after.ObjectMeta, m.claim(), "")
		} else {
			metav1.SetMetaDataLabel(&after.ObjectMeta, v1alpha1.SetLabel, m.set)
		}
	})
}

// part ends the set's relation to a member, and reports whether there was one.
func (m members) part(ctx context.Context, now *bundle.BundleDeployment) (parted bool, err error) {
	_, claimed := now.Annotations[m.claim()]
	switch mine := now.Labels[v1alpha1.SetLabel] == m.set; {
	case !mine && !claimed:
		return false, nil
	case mine && len(claims(now)) > 0:
		return true, m.handOver(ctx, now, claims(now)[0])
	case mine:
		return true, m.patch(ctx, now, func(after *bundle.BundleDeployment) { delete(after.Labels, v1alpha1.SetLabel) })
	}
	return true, m.patch(ctx, now, func(after *bundle.BundleDeployment) { delete(after.Annotations, m.claim()) })
}
