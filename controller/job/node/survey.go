package node

import (
	"context"
	"errors"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// Survey looks at all nodes.
type Survey struct {
	Nodes  Nodes
	Offers Offers
	Clock  func() time.Time
}

// Look has nodes show their standing, and deletes offers that their nodes cannot confirm any more.
func (s Survey) Look(ctx context.Context) error {
	nodes, err := s.Nodes.List(ctx)
	if err != nil {
		return err
	}
	var failed []error
	known := map[string]node.Node{}
	for _, n := range nodes {
		known[n.Name] = n
		failed = append(failed, s.Nodes.Show(ctx, n.Name, Shown{Standing: n.Standing(s.Clock())}))
	}
	offers, err := s.Offers.List(ctx)
	for _, o := range offers {
		if n, exists := known[o.Node]; o.Forgotten(n, exists) {
			failed = append(failed, s.Offers.Delete(ctx, o.Name))
		}
	}
	return errors.Join(append(failed, err)...)
}
