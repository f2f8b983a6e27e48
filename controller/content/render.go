package content

import (
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Options say how a tree is rendered.
type Options struct {
	// Format is a format's name; "" is the one that the tree looks like.
	Format string
}

// Rendered is what came of a tree.
type Rendered struct {
	Format  bundle.Format
	Objects []bundle.Object
}

// Render returns the objects of a tree. That there are none is an error: no bundle
// means that.
func Render(tree bundle.Tree, o Options) (Rendered, error) {
	format, err := bundle.ParseFormat(o.Format, &tree)
	if err != nil {
		return Rendered{}, err
	}
	objects, err := render(&tree, format)
	if err == nil && len(objects) == 0 {
		err = fmt.Errorf("it holds no object: manifests end in .yaml, .yml or .json; there are %d files", len(tree.Paths()))
	}
	if err != nil {
		return Rendered{}, fmt.Errorf("cannot render as %s: %w", format, err)
	}
	return Rendered{Format: format, Objects: objects}, nil
}

func render(tree *bundle.Tree, format bundle.Format) ([]bundle.Object, error) {
	switch format {
	case bundle.Plain:
		return plain.Read(tree)
	default:
		return nil, errors.New("this version cannot")
	}
}
