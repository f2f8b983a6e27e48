package node

import (
	"context"
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
)

// errNotReady says that the node takes no pods yet.
var errNotReady = errors.New("the node is not ready")

// nodeObject is what of a Node says whether pods can run on it.
type nodeObject struct {
	Spec struct {
		Taints []struct {
			Key string `json:"key"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// WaitReady waits until the node takes pods.
func (p Plan) WaitReady(ctx context.Context, c *rest.Client) error {
	return rest.Poll(ctx, func() error {
		n := nodeObject{}
		if err := c.Get(ctx, "/api/v1/nodes/"+p.Host(), &n); err != nil {
			return err
		}
		return n.check()
	})
}

func (n nodeObject) check() error {
	for _, taint := range n.Spec.Taints {
		return fmt.Errorf("%w: it has taint %s", errNotReady, taint.Key)
	}
	for _, condition := range n.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return fmt.Errorf("%w: %s", errNotReady, condition.Message)
	}
	return errNotReady
}
