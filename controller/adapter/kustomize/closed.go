package kustomize

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// closed refuses kustomizations that would load something from outside the tree. The
// library offers no switch for that.
func closed(tree *bundle.Tree) error {
	var failed []error
	for _, name := range tree.Paths() {
		if !slices.Contains(bundle.Kustomizations, path.Base(name)) {
			continue
		}
		f, _ := tree.File(name)
		var k types.Kustomization
		if err := k.Unmarshal(f.Content); err != nil {
			failed = append(failed, fmt.Errorf("cannot read %s: %w", name, err))
			continue
		}
		for _, err := range []error{plugins(k), addresses(k)} {
			if err != nil {
				failed = append(failed, fmt.Errorf("cannot use %s: %w", name, err))
			}
		}
	}
	return errors.Join(failed...)
}

// plugins refuses what is configured by files of its own, which may name anything, and
// what starts programs.
func plugins(k types.Kustomization) error {
	switch {
	case len(k.Generators)+len(k.Transformers)+len(k.Validators) > 0:
		return errors.New("generators, transformers and validators are not supported: use the kustomization's own fields")
	case len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 || k.HelmGlobals != nil:
		return errors.New("charts in a kustomization are not supported: render the chart as a bundle of its own, with format helm")
	default:
		return nil
	}
}

// addresses refuses what the library would fetch.
//
//nolint:staticcheck // deprecated fields are still read, and so must be looked at
func addresses(k types.Kustomization) error {
	all := slices.Concat(k.Resources, k.Bases, k.Components, k.Crds, k.Configurations, []string{k.OpenAPI["path"]})
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		all = append(all, p.Path)
	}
	for _, p := range k.PatchesStrategicMerge {
		if !strings.Contains(string(p), "\n") { // else it is the patch itself
			all = append(all, string(p))
		}
	}
	for _, r := range k.Replacements {
		all = append(all, r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		all = slices.Concat(all, g.FileSources, g.EnvSources, []string{g.EnvSource})
	}
	for _, g := range k.SecretGenerator {
		all = slices.Concat(all, g.FileSources, g.EnvSources, []string{g.EnvSource})
	}
	for _, name := range all {
		if strings.ContainsAny(name, ":@?") || strings.HasPrefix(strings.ToLower(name), "github.com/") {
			return fmt.Errorf("%q is outside the bundle: copy it into the bundle, and use its path there", name)
		}
	}
	return nil
}
