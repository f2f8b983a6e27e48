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

// reach finds the files that the library may read, and judges those alone (CONTENT.md X3).
type reach struct {
	tree *bundle.Tree
	// files and folders are those that were found.
	files, folders map[string]bool
	failed         []error
}

// reachable returns the files that the kustomization in a folder needs. It refuses those that would load something from
// outside the tree, for which the library offers no switch, those that lead through links, and those whose aliases
// expand to too much (CONTENT.md X5).
func reachable(tree *bundle.Tree, folder string) (map[string]bool, error) {
	r := reach{tree: tree, files: map[string]bool{}, folders: map[string]bool{}}
	r.folder(folder)
	return r.files, errors.Join(r.failed...)
}

// folder judges the kustomization in a folder, and those that it needs.
func (r *reach) folder(at string) {
	if r.folders[at] {
		return
	}
	r.folders[at] = true
	for _, name := range bundle.Kustomizations {
		name = path.Join(at, name)
		if err := r.tree.Follow(name); err != nil {
			r.failed = append(r.failed, err)
		} else if f, found := r.tree.File(name); found && r.read(name) {
			r.kustomization(name, f.Content)
		}
	}
}

// kustomization judges one, and finds what it refers to.
func (r *reach) kustomization(name string, text []byte) {
	var k types.Kustomization
	if err := k.Unmarshal(text); err != nil {
		r.failed = append(r.failed, fmt.Errorf("cannot read %s: %w", name, err))
		return
	}
	if err := plugins(k); err != nil {
		r.failed = append(r.failed, fmt.Errorf("cannot use %s: %w", name, err))
	}
	for _, patch := range inline(k) {
		if err := bounded([]byte(patch)); err != nil {
			r.failed = append(r.failed, fmt.Errorf("cannot use a patch in %s: %w", name, err))
		}
	}
	for _, reference := range references(k) {
		if err := r.refer(path.Dir(name), reference); err != nil {
			r.failed = append(r.failed, fmt.Errorf("cannot use %s: %w", name, err))
		}
	}
}

// refer finds the file or the folder that a kustomization in a folder refers to. A path that leads nowhere is left to
// the library's errors.
func (r *reach) refer(folder string, to reference) error {
	if strings.ContainsAny(to.name, ":@?") || strings.HasPrefix(strings.ToLower(to.name), "github.com/") {
		return fmt.Errorf("%q is outside the bundle: copy it into the bundle, and use its path there", to.name)
	}
	if to.name == "" || path.IsAbs(to.name) {
		return nil
	}
	at := path.Join(folder, to.name)
	if err := r.tree.Follow(at); err != nil {
		return err
	}
	switch _, found := r.tree.File(at); {
	case found && to.raw:
		r.files[at] = true
	case found:
		r.read(at)
	case to.folder:
		r.folder(strings.TrimPrefix(at, "."))
	}
	return nil
}

// read adds a file in YAML, if its aliases are bounded.
func (r *reach) read(name string) bool {
	f, _ := r.tree.File(name)
	if err := bounded(f.Content); err != nil {
		r.failed = append(r.failed, fmt.Errorf("cannot use %s: %w", name, err))
		return false
	}
	r.files[name] = true
	return true
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

// reference is a path in a kustomization: of a file in YAML or JSON, of one that is taken as it is, or also of a folder.
type reference struct {
	name        string
	raw, folder bool
}

// references returns the paths and addresses that the library would load.
//
//nolint:staticcheck // deprecated fields are still read, and so must be looked at
func references(k types.Kustomization) []reference {
	var all []reference
	for _, name := range slices.Concat(k.Resources, k.Bases, k.Components) {
		all = append(all, reference{name: name, folder: true})
	}
	names := slices.Concat(k.Crds, k.Configurations, []string{k.OpenAPI["path"]})
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		names = append(names, p.Path)
	}
	for _, p := range k.PatchesStrategicMerge {
		if !strings.Contains(string(p), "\n") { // else it is the patch itself
			names = append(names, string(p))
		}
	}
	for _, r := range k.Replacements {
		names = append(names, r.Path)
	}
	for _, name := range names {
		all = append(all, reference{name: name})
	}
	return append(all, generators(k)...)
}

// inline returns the patches that are written in a kustomization itself.
//
//nolint:staticcheck // deprecated fields are still read, and so must be looked at
func inline(k types.Kustomization) []string {
	var all []string
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		all = append(all, p.Patch)
	}
	for _, p := range k.PatchesStrategicMerge {
		all = append(all, string(p))
	}
	return all
}

// generators returns the files that are taken as they are.
func generators(k types.Kustomization) []reference {
	var all []reference
	var generated []types.KvPairSources
	for _, g := range k.ConfigMapGenerator {
		generated = append(generated, g.KvPairSources)
	}
	for _, g := range k.SecretGenerator {
		generated = append(generated, g.KvPairSources)
	}
	for _, g := range generated {
		for _, name := range slices.Concat(g.FileSources, g.EnvSources, []string{g.EnvSource}) {
			if _, file, keyed := strings.Cut(name, "="); keyed {
				name = file
			}
			all = append(all, reference{name: name, raw: true})
		}
	}
	return all
}
