package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// confirmed returns the losses that a person has confirmed before.
func (l *look) confirmed(s integrationset.Situation) map[integrationset.Key]int {
	names := map[string]integrationset.Key{}
	for _, m := range s.Standing {
		names[integrationset.Name(l.set.Name, m.Key)] = m.Key
	}
	confirmed := map[integrationset.Key]int{}
	for _, loss := range l.set.State.Confirmed {
		if k, stands := names[loss.Member]; stands {
			confirmed[k] = int(loss.Workloads)
		}
	}
	return confirmed
}

// confirm stores the losses that a person confirms, before the first of them comes about, and forgets those that have.
func (l *look) confirm(ctx context.Context, s integrationset.Situation) error {
	before := l.set.DeepCopy()
	switch r := l.result.Removal; {
	case r != nil && r.Digest == l.set.Annotations[v1alpha1.ConfirmKey]:
		l.set.State.Confirmed, l.set.State.LastConfirmed = losses(l.set.Name, r.Losses), r.Digest
		s.Confirmed, s.LastConfirmed = r.Losses, r.Digest
		l.result.Situation, l.result.Decision = s, integrationset.Decide(s)
	case r == nil && len(l.result.Waits) == 0 && len(l.result.Steps) == 0:
		l.set.State.Confirmed = nil
	default:
		outdated := map[string]bool{}
		for k, is := range s.Outdated() {
			outdated[integrationset.Name(l.set.Name, k)] = is
		}
		l.set.State.Confirmed = slices.DeleteFunc(slices.Clone(l.set.State.Confirmed), func(loss v1alpha1.IntegrationLoss) bool {
			return outdated[loss.Member]
		})
	}
	if slices.Equal(before.State.Confirmed, l.set.State.Confirmed) {
		return nil
	}
	if err := l.Client.Patch(ctx, l.set, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot store what was confirmed: %w", err)
	}
	l.said = l.set.DeepCopy()
	return nil
}

// losses returns losses as they are stored.
func losses(set string, all map[integrationset.Key]int) []v1alpha1.IntegrationLoss {
	var out []v1alpha1.IntegrationLoss
	for k, lost := range all {
		out = append(out, v1alpha1.IntegrationLoss{Member: integrationset.Name(set, k), Workloads: value.FromInt(lost)})
	}
	slices.SortFunc(out, func(a, b v1alpha1.IntegrationLoss) int { return cmp.Compare(a.Member, b.Member) })
	return out
}
