package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/golang/glog"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// publishers is how many writes are under way at once.
const publishers = 8

// publisher keeps a bundle in every place that needs it.
type publisher struct {
	client     kubernetes.Interface
	namespace  string
	namespaces Namespaces
	maps       *watch
	webhooks   *watch // nil if somebody else writes the caBundle
}

// newPublisher returns a publisher for Orcon's namespace, the opted-in ones,
// and the named webhook configuration, if a name is given.
func newPublisher(client kubernetes.Interface, namespace, webhook string, namespaces Namespaces) *publisher {
	p := &publisher{
		client:     client,
		namespace:  namespace,
		namespaces: namespaces,
		maps:       newWatch(client, "", TrustName, configMapKind),
	}
	if webhook != "" {
		p.webhooks = newWatch(client, "", webhook, webhookKind)
	}
	return p
}

// watches returns what has to be started.
func (p *publisher) watches() []*watch {
	if p.webhooks == nil {
		return []*watch{p.maps}
	}
	return []*watch{p.maps, p.webhooks}
}

// places returns the places of the bundle, the webhook configuration first. One that does not exist is left out: the
// bundle is published when it comes.
func (p *publisher) places() ([]place, error) {
	names, err := p.namespaces.Names()
	if err != nil {
		return nil, err
	}
	var out []place
	if p.webhooks != nil {
		for _, c := range all[*admissionv1.MutatingWebhookConfiguration](p.webhooks) {
			out = append(out, webhookPlace{seen: c})
		}
	}
	maps := all[*corev1.ConfigMap](p.maps)
	wanted := map[string]bool{p.namespace: true}
	for _, name := range names {
		wanted[name] = true
	}
	for name, c := range maps {
		// Opted in once: pods that run there still trust what it says.
		if c.Labels[labelManagedBy] == managedBy {
			wanted[name] = true
		}
	}
	for name := range wanted {
		out = append(out, mapPlace{namespace: name, seen: maps[name]})
	}
	return out, nil
}

// webhooksOf returns the places that the API server reads.
func webhooksOf(places []place) []place {
	return slices.DeleteFunc(slices.Clone(places), func(at place) bool {
		_, ok := at.(webhookPlace)
		return !ok
	})
}

// trusted returns the authorities that the API server and Orcon itself trusted when they were last seen.
func (p *publisher) trusted(places []place) []*x509.Certificate {
	var out []*x509.Certificate
	for _, at := range webhooksOf(places) {
		out = append(out, at.trusted()...)
	}
	own := mapPlace{namespace: p.namespace, seen: all[*corev1.ConfigMap](p.maps)[p.namespace]}
	return append(out, own.trusted()...)
}

// publish puts the bundle into each place that lacks it. One that fails does
// not hold back the rest. It returns nil if the bundle is everywhere.
func (p *publisher) publish(ctx context.Context, places []place, bundle []byte) error {
	var todo []place
	for _, at := range places {
		if !at.has(bundle) {
			todo = append(todo, at)
		}
	}
	failed := make([]error, len(todo))
	workqueue.ParallelizeUntil(ctx, publishers, len(todo), func(i int) {
		failed[i] = todo[i].publish(ctx, p.client, bundle)
	})
	if err := summary(failed); err != nil {
		return err
	}
	if len(todo) > 0 {
		glog.Infof("published the trust bundle in %d of %d places", len(todo), len(places))
	}
	return ctx.Err()
}

// summary joins the first few errors and counts the rest: a thousand
// namespaces may fail for one reason.
func summary(all []error) error {
	const shown = 3
	var failed []error
	for _, err := range all {
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) <= shown {
		return errors.Join(failed...)
	}
	return fmt.Errorf("%w\nand %d more", errors.Join(failed[:shown]...), len(failed)-shown)
}
