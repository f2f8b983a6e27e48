package registryv1

import (
	"errors"
	"fmt"
	"slices"
)

// check refuses a bundle that is against the rules of the format, each by its reason.
func (o *operator) check() error {
	var failed []error
	refuse := func(format string, args ...any) {
		failed = append(failed, fmt.Errorf("cannot use the bundle of %s: %s", o.Metadata.Name, fmt.Sprintf(format, args...)))
	}
	names := map[string]bool{}
	for _, d := range o.Spec.Install.Spec.Deployments {
		if d.Name == "" || names[d.Name] {
			refuse("deployment name %q is empty or there twice", d.Name)
		}
		names[d.Name] = true
	}
	if len(names) == 0 {
		refuse("its install strategy has no deployment")
	}
	for _, other := range o.others {
		if _, known := supported[other.ID().Kind]; !known {
			refuse("%s is of a kind that a bundle may not have", other.ID())
		}
	}
	o.checkDefinitions(refuse)
	seen := map[string]bool{}
	for i, w := range o.Spec.Webhooks {
		if w.Name == "" || seen[w.Type+w.Name] {
			refuse("generateName %q of webhookdefinitions[%d] is empty or there twice", w.Name, i)
		}
		seen[w.Type+w.Name] = true
		if !names[w.Deployment] {
			refuse("webhook %s names deployment %q, which the install strategy does not have", w.Name, w.Deployment)
		}
		o.checkWebhook(w, refuse)
	}
	return errors.Join(failed...)
}

// checkDefinitions compares the definitions that are owned with those that are there.
func (o *operator) checkDefinitions(refuse func(string, ...any)) {
	there, owned := map[string]bool{}, map[string]bool{}
	for _, d := range o.definitions {
		there[d.ID().Name] = true
	}
	for _, d := range o.Spec.Definitions.Owned {
		owned[d.Name] = true
		if !there[d.Name] {
			refuse("it owns CustomResourceDefinition %q, and manifests/ does not have it", d.Name)
		}
	}
	for _, d := range o.definitions {
		if !owned[d.ID().Name] {
			refuse("manifests/ has %s, and its ClusterServiceVersion does not own it", d.ID())
		}
	}
}

func (o *operator) checkWebhook(w webhook, refuse func(string, ...any)) {
	switch w.Type {
	case validating, mutating:
		for _, r := range w.Rules {
			for _, group := range r.APIGroups {
				if why := guarded[group]; why != "" {
					refuse("webhook %s has a rule for API group %q, which %s", w.Name, group, why)
				}
			}
		}
	case conversion:
		o.checkConversion(w, refuse)
	default:
		refuse("webhook %s has type %q: it is %s, %s or %s", w.Name, w.Type, validating, mutating, conversion)
	}
}

// guarded are the API groups that an operator may not answer for, and why.
//
//nolint:gochecknoglobals // a table
var guarded = map[string]string{
	"*":                            "has all others in it",
	"admissionregistration.k8s.io": "would keep it from being removed",
	"olm.operatorframework.io":     "would let it stop installations",
	"operators.coreos.com":         "would let it stop installations",
}

func (o *operator) checkConversion(w webhook, refuse func(string, ...any)) {
	if !o.everywhere() {
		refuse("webhook %s converts objects of the whole cluster, and needs mode %s", w.Name, allNamespaces)
	}
	for _, name := range w.Converted {
		if !slices.ContainsFunc(o.Spec.Definitions.Owned, func(d owned) bool { return d.Name == name }) {
			refuse("webhook %s converts %q, which the bundle does not own", w.Name, name)
		}
	}
}
