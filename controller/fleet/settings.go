package fleet

import (
	"errors"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// Settings hold for all sets of a process.
type Settings struct {
	// ServerURL is the address of this cluster in the data; "" is not compared.
	ServerURL string
	// Environment and Upstream are those of sets that name none; "" for none.
	Environment, Upstream string
	// Image is the value of parameter IMAGE in sets that give it none; "" leaves it to the environments.
	Image string
	// ImageRefs are refs of the upstreams, by environment, in sets that give no other; nil for none.
	ImageRefs map[string]string
	// Process are the parameters that this process passes on; nil for none.
	Process map[string]string
	// DryRun has sets write nothing but their status.
	DryRun bool
	// Self is the integration as which this process runs.
	Self integrationset.Self
}

// all is the name that stands for every environment.
const all = "All"

// filter returns what a set selects of the data.
func (s Settings) filter(spec v1alpha1.IntegrationSetSpec) (domain.Filter, error) {
	f := domain.Filter{
		Cluster: spec.Cluster, ServerURL: s.ServerURL, Environments: spec.Environments, Upstream: spec.Upstream, Integrations: spec.Integrations,
	}
	if f.Upstream == "" {
		f.Upstream = s.Upstream
	}
	switch {
	case slices.Contains(spec.Environments, all):
		f.Environments = nil
	case len(spec.Environments) == 0 && s.Environment == "":
		return f, errors.New("spec.environments: no environment is named: name those that the set manages, or start the controller with " +
			"-environment")
	case len(spec.Environments) == 0:
		f.Environments = []string{s.Environment}
	}
	return f, nil
}

// imageParameter is the parameter of the chart for the image of integrations.
const imageParameter = "IMAGE"

// parameters returns the values for the parameters of a member's Template. Those of the set win; the member as which the
// controller runs keeps its own image.
func (s Settings) parameters(set map[string]string, own bool) map[string]string {
	if _, given := set[imageParameter]; given || own || s.Image == "" {
		return set
	}
	with := map[string]string{imageParameter: s.Image}
	maps.Copy(with, set)
	return with
}
