package nodes

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// Nodes stores nodes as RunNodes.
type Nodes struct {
	// Cache may be a moment behind; Live reads from the API server itself.
	Cache, Live client.Reader
	Writer      client.Client
	Clock       func() time.Time
}

var _ controller.Nodes = Nodes{}

// read reads a RunNode.
func read(ctx context.Context, from client.Reader, name string) (*v1alpha1.RunNode, error) {
	var o v1alpha1.RunNode
	err := from.Get(ctx, client.ObjectKey{Name: name}, &o)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot find RunNode %s: %w", name, controller.ErrNone)
	case err != nil:
		return nil, fmt.Errorf("cannot read RunNode %s: %w", name, err)
	}
	return &o, nil
}

// Get implements controller.Nodes.
func (n Nodes) Get(ctx context.Context, name string) (node.Node, error) {
	o, err := read(ctx, n.Cache, name)
	if err != nil {
		return node.Node{}, err
	}
	return convert.ToNode(o), nil
}

// Stored implements controller.Nodes.
func (n Nodes) Stored(ctx context.Context, name string) (node.Node, string, error) {
	o, err := read(ctx, n.Live, name)
	if err != nil {
		return node.Node{}, "", err
	}
	return convert.ToNode(o), o.ResourceVersion, nil
}

// List implements controller.Nodes.
func (n Nodes) List(ctx context.Context) (all []node.Node, err error) {
	var list v1alpha1.RunNodeList
	if err := n.Cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("cannot list the RunNodes: %w", err)
	}
	for i := range list.Items {
		all = append(all, convert.ToNode(&list.Items[i]))
	}
	return all, nil
}

// Identify implements controller.Nodes, by one conditional write.
func (n Nodes) Identify(ctx context.Context, name, version string, i node.Identity) error {
	o, err := read(ctx, n.Live, name)
	if err != nil {
		return err
	}
	before := o.DeepCopy()
	before.ResourceVersion = version
	convert.SetIdentity(o, i)
	err = n.Writer.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("cannot store RunNode %s: %w", name, controller.ErrMoved)
	case err != nil:
		return fmt.Errorf("cannot store RunNode %s: %w", name, err)
	}
	return nil
}

// Show implements controller.Nodes.
func (n Nodes) Show(ctx context.Context, name string, s controller.Shown) error {
	o, err := read(ctx, n.Cache, name)
	if err != nil {
		return err
	}
	before := o.DeepCopy()
	if s.Standing.Phase != "" {
		convert.SetNode(o, s.Standing, n.Clock())
	}
	if !s.Seen.IsZero() {
		convert.SetCall(o, s.Call)
	}
	if equality.Semantic.DeepEqual(before.Status, o.Status) {
		return nil
	}
	if err := n.Writer.Status().Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot write the status of RunNode %s: %w", name, err)
	}
	return nil
}
