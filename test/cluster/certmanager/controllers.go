package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"golang.org/x/sync/errgroup"

	// Controllers and issuers register themselves.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// workers is how many objects of a kind are worked on at once.
const workers = 2

// runControllers runs every registered controller until ctx ends, and calls
// ready once their caches are filled. Secrets of ClusterIssuers are in namespace.
func runControllers(ctx context.Context, kubeconfig, namespace string, ready func()) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         kubeconfig,
		KubernetesAPIQPS:   1000,
		KubernetesAPIBurst: 1000,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: namespace},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Second,
			CertificateRequestMaximumBackoffDuration: 10 * time.Second,
		},
	})
	if err != nil {
		return fmt.Errorf("cannot prepare cert-manager: %w", err)
	}
	built := map[string]controller.Interface{}
	for name, construct := range controller.Known() {
		if built[name], err = construct(factory); err != nil {
			return fmt.Errorf("cannot prepare controller %s: %w", name, err)
		}
	}
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("cannot prepare cert-manager: %w", err)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.SharedInformerFactory.WaitForCacheSync(ctx.Done())
	shared.KubeSharedInformerFactory.WaitForCacheSync(ctx.Done())
	group, ctx := errgroup.WithContext(ctx)
	for name, c := range built {
		group.Go(func() error {
			if err := c.Run(workers, ctx); err != nil {
				return fmt.Errorf("controller %s ended: %w", name, err)
			}
			return nil
		})
	}
	ready()
	return group.Wait()
}
