package certificate

import (
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Years of a rotator, a replica of the controller and one of the webhook, and an informer of namespaces, on a clock
// that runs as fast as the machine can: every five hours each leaf is verified
// against what is published, and a new namespace gets its bundle.
func TestThreeYears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{application.LabelOptIn: application.OptedIn}}}
		client := fake.NewClientset(configuration(), opted)
		factory := informers.NewSharedInformerFactory(client, 0)
		namespaces, err := object.NewOptedIn(factory.Core().V1().Namespaces().Informer())
		require.NoError(t, err)
		rotator, err := NewRotator(RotatorOptions{Client: client, Namespace: orcon, WebhookConfiguration: webhook, WebhookNames: ServiceNames(webhook, orcon), Namespaces: namespaces})
		require.NoError(t, err)
		live, trust := NewLiveWebhook(client, webhook), NewLiveTrust(client, "shop")
		go func() { assert.NoError(t, rotator.Start(t.Context())) }()
		go func() { assert.NoError(t, live.Start(t.Context())) }()
		go func() { assert.NoError(t, trust.Start(t.Context())) }()
		factory.StartWithContext(t.Context())
		t.Cleanup(factory.Shutdown)
		name := ServiceNames(webhook, orcon)[0]
		var checks []func() error
		own, err := NewSelfManaged(SelfManagedOptions{Client: client, Namespace: orcon, DNSNames: ServiceNames(webhook, orcon)})
		require.NoError(t, err)
		replicas := []Source{own, NewServed(client, orcon)}
		for _, r := range replicas {
			byWebhook, byTrust := Verified(r, live, name, nil), Verified(r, trust, name, nil)
			require.ErrorIs(t, byWebhook(nil), ErrNotVerified, "not ready before it has a leaf")
			checks = append(checks, func() error { return byWebhook(nil) }, func() error { return byTrust(nil) })
			go func() { assert.NoError(t, r.Start(t.Context())) }()
		}

		<-time.After(10 * time.Second) // by the bubble's clock
		authorities := map[string]bool{}
		for range 3 * 365 * 24 / 5 {
			for _, check := range checks {
				require.NoError(t, check())
			}
			for _, r := range replicas {
				pair, err := r.GetCertificate(&tls.ClientHelloInfo{})
				require.NoError(t, err)
				authorities[pair.Leaf.Issuer.CommonName] = true
				require.Less(t, time.Until(pair.Leaf.NotAfter), 24*time.Hour)
				require.Greater(t, time.Until(pair.Leaf.NotAfter), 7*time.Hour, "enough for an outage of a third of its life")
			}
			<-time.After(5 * time.Hour)
		}
		assert.Len(t, authorities, 5, "one from the start and one each eight months")
	})
}
