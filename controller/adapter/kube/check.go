package kube

import (
	"context"
	"errors"
	"fmt"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// Finding is one thing that Check has looked at.
type Finding struct {
	// What it is: "Kubernetes 1.35 or newer", "Deployment orcon-system/relations-controller".
	What string
	// Wrong is what is wrong with it, and the cure; nil if all is well.
	Wrong error
}

// partOfOrcon is the label of all that is installed of Orcon.
var partOfOrcon = client.MatchingLabels{"app.kubernetes.io/part-of": "orcon"} //nolint:gochecknoglobals // a constant

var (
	errNoKinds = errors.New("they are not installed: see the README, \"On your own cluster\": orcon install builtin:selfsigned …")
	errNone    = errors.New("there is none: see the README, \"On your own cluster\": orcon install builtin:selfsigned …")
	errTrust   = errors.New("the API server does not know whom to trust: Orcon's controller, or cert-manager, writes its caBundle: look into their logs")
)

// Check looks whether Orcon can serve a cluster, and whether what is installed of it works
// (SAFETY.md D13). The error says that the cluster cannot be looked at.
func Check(ctx context.Context, cfg *rest.Config) ([]Finding, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	reader, err := client.New(cfg, client.Options{Scheme: clientscheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	old := CheckVersion(d)
	if old != nil && !errors.Is(old, ErrTooOld) {
		return nil, old
	}
	kinds, err := checkKinds(d)
	if err != nil {
		return nil, err
	}
	all := []Finding{{"Kubernetes 1.35 or newer", old}, kinds}
	for _, look := range []func(context.Context, client.Reader) ([]Finding, error){checkDeployments, checkWebhooks} {
		found, err := look(ctx, reader)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func checkKinds(d discovery.ServerResourcesInterface) (Finding, error) {
	f := Finding{What: "kinds of " + v1alpha1.GroupVersion.String()}
	_, err := d.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		f.Wrong = errNoKinds
	case err != nil:
		return f, fmt.Errorf("cannot list %s: %w", f.What, err)
	}
	return f, nil
}

func checkDeployments(ctx context.Context, reader client.Reader) ([]Finding, error) {
	var list appsv1.DeploymentList
	if err := reader.List(ctx, &list, partOfOrcon); err != nil {
		return nil, fmt.Errorf("cannot list the Deployments of Orcon: %w", err)
	}
	if len(list.Items) == 0 {
		return []Finding{{"Deployments of Orcon", errNone}}, nil
	}
	var all []Finding
	for _, d := range list.Items {
		f := Finding{What: fmt.Sprintf("Deployment %s/%s", d.Namespace, d.Name)}
		if wanted := replicas(d.Spec.Replicas); int(min(d.Status.ReadyReplicas, d.Status.UpdatedReplicas)) < wanted {
			f.Wrong = fmt.Errorf("%d of %d replicas are ready, %[3]d are of this version: kubectl -n %[4]s describe deployment %[5]s", d.Status.ReadyReplicas, wanted, d.Status.UpdatedReplicas, d.Namespace, d.Name)
		}
		all = append(all, f)
	}
	return all, nil
}

func checkWebhooks(ctx context.Context, reader client.Reader) ([]Finding, error) {
	var list registrationv1.MutatingWebhookConfigurationList
	if err := reader.List(ctx, &list, partOfOrcon); err != nil {
		return nil, fmt.Errorf("cannot list the webhooks of Orcon: %w", err)
	}
	if len(list.Items) == 0 {
		return []Finding{{"MutatingWebhookConfigurations of Orcon", errNone}}, nil
	}
	var all []Finding
	for _, c := range list.Items {
		f := Finding{What: "MutatingWebhookConfiguration " + c.Name}
		for _, hook := range c.Webhooks {
			if len(hook.ClientConfig.CABundle) == 0 {
				f.Wrong = errTrust
			}
		}
		all = append(all, f)
	}
	return all, nil
}
