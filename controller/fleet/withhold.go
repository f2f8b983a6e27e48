package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// nameVariable is the environment variable with the name of the integration that a container runs.
const nameVariable = "INTEGRATION_NAME"

// targets returns the namespaces in which members are installed, in order.
func targets(wanted []member, standing map[integrationset.Key]standing) []string {
	names := map[string]bool{}
	for _, m := range wanted {
		names[m.namespace] = true
	}
	for _, one := range standing {
		names[one.deployment.Spec.Render.InstallNamespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// withheld returns the stop of a set that may only plan, in namespaces where its members are installed; nil if it may
// write.
func (l *look) withheld(ctx context.Context, namespaces []string) (*integrationset.Stop, error) {
	stop := func(reason, why, cure string) *integrationset.Stop {
		count := map[integrationset.Verb]int{}
		for _, step := range l.result.Steps {
			count[step.Verb]++
		}
		return &integrationset.Stop{Reason: reason, Person: true, Message: fmt.Sprintf("%s: it would create %d members, update %d and delete %d: %s",
			why, count[integrationset.Create], count[integrationset.Update], count[integrationset.Delete], cure)}
	}
	switch {
	case l.DryRun:
		return stop(integrationset.DryRun, "the controller runs with -dryRun, so that the set only plans",
			"start the controller with -dryRun=false; where the data deploy it, with MANAGER_DRY_RUN: --no-dry-run"), nil
	case slices.Contains(l.set.Spec.Environments, all) && l.set.Spec.AllowWrites == "":
		return stop(integrationset.ReadOnly, "environments: [All] only previews",
			"name environments, or set spec.allowWrites: AllEnvironments"), nil
	case l.Self.Integration == "", len(l.result.Steps) == 0, l.Self.Alone(l.set.Spec.Integrations):
		return nil, nil //nolint:nilnil // nothing stops the set
	}
	return l.rival(ctx, namespaces)
}

// rival returns the stop of a set while another program runs under the controller's name in one of its namespaces.
func (l *look) rival(ctx context.Context, namespaces []string) (*integrationset.Stop, error) {
	inputs, err := l.Connect(l.account(), l.owner())
	if err != nil {
		return nil, fmt.Errorf("cannot act as %s: %w", l.account(), err)
	}
	for _, namespace := range namespaces {
		running, err := inputs.Running(ctx, namespace, nameVariable, l.Self.Integration)
		if apierrors.IsForbidden(err) {
			return &integrationset.Stop{Reason: integrationset.Rival, Person: true, Message: fmt.Sprintf(
				"cannot see whether another program runs as %s in namespace %s, so that nothing is written: %v: let the account list "+
					"Deployments and StatefulSets there", l.Self.Integration, namespace, err)}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot see whether another program runs as %s: %w", l.Self.Integration, err)
		}
		if stop := l.Self.Rival(namespace, running); stop != nil {
			return stop, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing stops the set
}
