package main

import (
	"context"
	"fmt"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// newInjector returns cert-manager's CA injector for webhook configurations
// and CRDs. It is told by annotation cert-manager.io/inject-ca-from.
func newInjector(ctx context.Context, config *rest.Config) (ctrl.Manager, error) {
	ctrl.SetLogger(klog.Background())
	// The injector's field manager is the first part of its user agent.
	config = rest.CopyConfig(config)
	config.UserAgent = "cert-manager-cainjector/test"
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, certmanager.AddToScheme} {
		if err := add(kinds); err != nil {
			return nil, fmt.Errorf("cannot prepare the CA injector: %w", err)
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 kinds,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the CA injector: %w", err)
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the CA injector: %w", err)
	}
	return manager, nil
}
