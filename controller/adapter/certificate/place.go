package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyadmission "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate/revocation"
)

// TrustName and TrustKey are the ConfigMap that holds the bundle, and its key.
const (
	TrustName = revocation.Bundle
	TrustKey  = revocation.BundleKey
)

// FieldManager owns the published bundles, in ConfigMaps and in the webhook
// configuration, and the labels of Secrets that it creates.
const FieldManager = "orcon-trust"

// place is somewhere that a bundle is published, as it was last seen. The
// resourceVersion is written back, so that a leader that was replaced while it
// slept cannot put an old bundle over a new one: its write conflicts.
type place interface {
	// has says whether the bundle is already there.
	has(bundle []byte) bool
	// trusted returns the authorities of the bundle there.
	trusted() []*x509.Certificate
	// publish puts the bundle there.
	publish(ctx context.Context, client kubernetes.Interface, bundle []byte) error
}

// mapPlace is ConfigMap orcon-trust of one namespace. Seen is nil if there is
// none yet.
type mapPlace struct {
	namespace string
	seen      *corev1.ConfigMap
}

func (p mapPlace) has(bundle []byte) bool {
	return p.seen != nil && p.seen.Data[TrustKey] == string(bundle)
}

func (p mapPlace) trusted() []*x509.Certificate {
	if p.seen == nil {
		return nil
	}
	return ParseBundle([]byte(p.seen.Data[TrustKey]))
}

func (p mapPlace) publish(ctx context.Context, client kubernetes.Interface, bundle []byte) error {
	want := applycore.ConfigMap(TrustName, p.namespace).
		WithLabels(map[string]string{labelManagedBy: managedBy}).
		WithData(map[string]string{TrustKey: string(bundle)})
	if p.seen != nil {
		want = want.WithResourceVersion(p.seen.ResourceVersion)
	}
	_, err := client.CoreV1().ConfigMaps(p.namespace).Apply(ctx, want, forced())
	if leaving(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot publish the trust bundle in namespace %s: %w", p.namespace, err)
	}
	return nil
}

// leaving reports whether a write failed because the namespace is being deleted or is gone, and needs no bundle any
// more.
func leaving(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// webhookPlace is the webhook configuration: each of its webhooks has a bundle
// of its own.
type webhookPlace struct {
	seen *admissionv1.MutatingWebhookConfiguration
}

func (p webhookPlace) has(bundle []byte) bool {
	for i := range p.seen.Webhooks {
		if !bytes.Equal(p.seen.Webhooks[i].ClientConfig.CABundle, bundle) {
			return false
		}
	}
	return true
}

func (p webhookPlace) trusted() []*x509.Certificate {
	var out []*x509.Certificate
	for i := range p.seen.Webhooks {
		out = append(out, ParseBundle(p.seen.Webhooks[i].ClientConfig.CABundle)...)
	}
	return out
}

func (p webhookPlace) publish(ctx context.Context, client kubernetes.Interface, bundle []byte) error {
	want := applyadmission.MutatingWebhookConfiguration(p.seen.Name).WithResourceVersion(p.seen.ResourceVersion)
	for i := range p.seen.Webhooks {
		want = want.WithWebhooks(applyadmission.MutatingWebhook().
			WithName(p.seen.Webhooks[i].Name).
			WithClientConfig(applyadmission.WebhookClientConfig().WithCABundle(bundle...)))
	}
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := configurations.Apply(ctx, want, forced()); err != nil {
		return fmt.Errorf("cannot publish the trust bundle in webhook configuration %s: %w", p.seen.Name, err)
	}
	return nil
}

// forced takes the bundle's field from any earlier writer.
func forced() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: FieldManager, Force: true}
}
