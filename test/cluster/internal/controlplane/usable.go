package controlplane

import (
	"context"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
)

// WaitUsable waits for what controllers make in the default namespace and what
// every pod needs: a service account and the authority of the API server.
func WaitUsable(ctx context.Context, c *rest.Client) error {
	for _, path := range []string{
		"/api/v1/namespaces/default/serviceaccounts/default",
		"/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
		"/api/v1/namespaces/kube-system/serviceaccounts/default",
	} {
		if err := rest.Poll(ctx, func() error { return c.Get(ctx, path, nil) }); err != nil {
			return err
		}
	}
	return nil
}
