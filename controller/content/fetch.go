package content

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Source is a place to fetch content from.
type Source struct {
	bundle.Reference
	// Destination is the folder that the content is laid into; "" is the top.
	Destination string
}

// Fetch returns what all sources hold, laid over each other in the order given.
func Fetch(sources ...Source) (bundle.Tree, error) {
	layers := make([]bundle.Layer, len(sources))
	for i, s := range sources {
		tree, err := fetch(s.Reference)
		if err == nil {
			tree, err = tree.Sub(s.Folder)
		}
		if err != nil {
			return bundle.Tree{}, fmt.Errorf("cannot fetch %s: %w", s.Reference, err)
		}
		layers[i] = bundle.Layer{Destination: s.Destination, Tree: tree}
	}
	return bundle.Overlay(layers...)
}

func fetch(r bundle.Reference) (bundle.Tree, error) {
	switch r.Origin {
	case bundle.Local:
		return local(r.Location)
	default:
		return bundle.Tree{}, fmt.Errorf("content of origin %s cannot be fetched here", r.Origin)
	}
}

// local reads a folder or an archive.
func local(path string) (bundle.Tree, error) {
	folder, err := directory.IsFolder(path)
	if err != nil {
		return bundle.Tree{}, err
	}
	if folder {
		return directory.Read(path)
	}
	packed, err := directory.File(path)
	if err != nil {
		return bundle.Tree{}, err
	}
	return archive.Unpack(packed)
}
