package fleet

import (
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
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

// preview holds the steps of a set before they are written.
type preview struct {
	Settings

	spec  v1alpha1.IntegrationSetSpec
	steps []integrationset.Step
	// running returns the images of workloads that have the controller's name in a namespace, by workload.
	running func(namespace string) (map[string]string, error)
}

// stop returns the stop of a set that may only plan, whose members are installed in some namespaces; nil if it may write.
func (p preview) stop(namespaces []string) (*integrationset.Stop, error) {
	switch {
	case p.DryRun:
		return p.planned(integrationset.DryRun, "the controller runs with -dryRun, so that the set only plans",
			"start the controller with -dryRun=false; where the data deploy it, with MANAGER_DRY_RUN: --no-dry-run"), nil
	case slices.Contains(p.spec.Environments, all) && p.spec.AllowWrites == "":
		return p.planned(integrationset.ReadOnly, "environments: [All] only previews",
			"name environments, or set spec.allowWrites: AllEnvironments"), nil
	case p.Self.Integration == "", len(p.steps) == 0, p.Self.Alone(p.spec.Integrations):
		return nil, nil //nolint:nilnil // nothing stops the set
	}
	return p.rival(namespaces)
}

// planned returns a stop that counts what the set would write.
func (p preview) planned(reason, why, cure string) *integrationset.Stop {
	count := map[integrationset.Verb]int{}
	for _, step := range p.steps {
		count[step.Verb]++
	}
	message := fmt.Sprintf("%s: it would create %d members, update %d and delete %d: %s",
		why, count[integrationset.Create], count[integrationset.Update], count[integrationset.Delete], cure)
	return &integrationset.Stop{Reason: reason, Message: message, Person: true}
}

// rival returns the stop of a set while another program runs under the controller's name in one of its namespaces.
func (p preview) rival(namespaces []string) (*integrationset.Stop, error) {
	for _, namespace := range namespaces {
		running, err := p.running(namespace)
		if apierrors.IsForbidden(err) {
			return &integrationset.Stop{Reason: integrationset.Rival, Person: true, Message: fmt.Sprintf(
				"cannot see whether another program runs as %s in namespace %s, so that nothing is written: %v: let the account list "+
					"Deployments and StatefulSets there", p.Self.Integration, namespace, err)}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot see whether another program runs as %s: %w", p.Self.Integration, err)
		}
		if stop := p.Self.Rival(namespace, running); stop != nil {
			return stop, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing stops the set
}
