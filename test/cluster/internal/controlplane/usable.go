package controlplane

import (
	"context"
	"fmt"
	"time"
)

// usableInterval is how often the cluster is asked whether it can be used.
const usableInterval = 50 * time.Millisecond

// WaitUsable waits for what controllers make in the default namespace and what
// every pod needs: a service account and the authority of the API server.
func WaitUsable(ctx context.Context, c *Client) error {
	for _, path := range []string{
		"/api/v1/namespaces/default/serviceaccounts/default",
		"/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
		"/api/v1/namespaces/kube-system/serviceaccounts/default",
	} {
		if err := Poll(ctx, func() error { return c.Get(ctx, path, nil) }); err != nil {
			return err
		}
	}
	return nil
}

// Poll calls f until it returns nil or ctx ends, then with f's last error.
func Poll(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		case <-time.After(usableInterval):
		}
	}
}
