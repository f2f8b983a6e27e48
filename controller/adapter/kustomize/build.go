package kustomize

import (
	"fmt"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Renderer names what renders, with its version: another may render otherwise.
const Renderer = "kustomize v0.21.2"

// output is the file that holds all that is built.
const output = "kustomization.yaml"

// one is held while something is built: the library keeps the schema of the API, which a
// kustomization may set, in one place for all.
//
//nolint:gochecknoglobals // it guards one
var one sync.Mutex

// Render builds the kustomization in a folder of a tree, "" for the top, and returns its
// output, as one file. It may refer to what lies beside the folder. Whatever would load
// something from outside the tree is refused before. What it does not refer to is not read.
func Render(tree *bundle.Tree, folder string) (bundle.Tree, error) {
	needed, err := reachable(tree, folder)
	if err != nil {
		return bundle.Tree{}, err
	}
	files := filesys.MakeFsInMemory()
	for name := range needed {
		f, _ := tree.File(name)
		if err := files.WriteFile("/"+name, f.Content); err != nil {
			return bundle.Tree{}, fmt.Errorf("cannot prepare %s: %w", name, err)
		}
	}
	one.Lock()
	defer one.Unlock()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/"+folder)
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot build the kustomization: %w: everything it refers to must be part of the content: use the "+
			"folder above both as the source, and set the path", err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot write what was built: %w", err)
	}
	var all bundle.Tree
	return all, all.Add(output, bundle.File{Content: text})
}
