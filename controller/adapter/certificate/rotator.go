package certificate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate/revocation"
)

// RotatorOptions say what a [Rotator] works on.
type RotatorOptions struct {
	// Client writes; its rate limit should be none.
	Client kubernetes.Interface
	// Namespace is Orcon's.
	Namespace string
	// WebhookConfiguration names the MutatingWebhookConfiguration whose
	// caBundle is kept. Empty: none.
	WebhookConfiguration string
	// WebhookNames are the DNS names of the webhook, whose certificate is kept in Secret orcon-webhook-tls. None: it has
	// one from elsewhere.
	WebhookNames []string
	// Namespaces are those that opted in.
	Namespaces Namespaces
	// Periods are the lifetimes. Unset: DefaultPeriods.
	Periods Periods
	// Now is the clock. Unset: time.Now.
	Now func() time.Time
}

// Namespaces knows which namespaces opted in.
type Namespaces interface {
	// Names returns them in any order, or an error until all are known: nothing is decided from part of a list.
	Names() ([]string, error)
	// Notify has f called after each change. F does not block.
	Notify(f func())
}

// Rotator makes the authority, replaces it in steps, publishes its bundle, and signs the webhook's certificate.
// It runs in the elected leader only; a second one does no harm, since each
// write says what it expects to find.
type Rotator struct {
	client    kubernetes.Interface
	namespace string
	periods   Periods
	now       func() time.Time
	publisher *publisher
	secret    *watch
	loop      *loop
	// webhookNames are those of leaf, the webhook's certificate.
	webhookNames []string
	leaf         *watch
}

// NewRotator returns a rotator that has not begun. It fails with ErrPeriods.
func NewRotator(o RotatorOptions) (*Rotator, error) {
	periods, err := orDefault(o.Periods)
	if err != nil {
		return nil, err
	}
	r := &Rotator{
		client:    o.Client,
		namespace: o.Namespace,
		periods:   periods,
		now:       orRealTime(o.Now),
		publisher: newPublisher(o.Client, o.Namespace, o.WebhookConfiguration, o.Namespaces),
		secret:    newWatch(o.Client, o.Namespace, SecretName, secretKind),
		loop:      newLoop("certificate rotator"),

		webhookNames: o.WebhookNames,
		leaf:         newWatch(o.Client, o.Namespace, LeafName, secretKind),
	}
	o.Namespaces.Notify(r.loop.nudge)
	return r, nil
}

// orDefault returns p, or the default for none, if a rotation fits into it.
func orDefault(p Periods) (Periods, error) {
	if p == (Periods{}) {
		p = DefaultPeriods()
	}
	return p, p.Validate()
}

// orRealTime returns now, or the real clock for none.
func orRealTime(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// never is a wait that nothing ends but a change.
const never time.Duration = math.MaxInt64

// NeedLeaderElection says that only the elected leader rotates.
func (r *Rotator) NeedLeaderElection() bool { return true }

// Start rotates until ctx ends. It can be called once.
func (r *Rotator) Start(ctx context.Context) error {
	return r.loop.run(ctx, append(r.publisher.watches(), r.secret, r.leaf), r.pass)
}

// pass publishes what the Secret says and takes the step that is due, if any.
// It returns how long there is nothing to do. The places are looked at before
// the Secret is read: see place.
func (r *Rotator) pass(ctx context.Context) (time.Duration, error) {
	places, err := r.publisher.places()
	if err != nil {
		return 0, err
	}
	now, renewal := r.now(), never
	read, err := readSecret(ctx, r.client, r.namespace, SecretName)
	if err != nil {
		return 0, err
	}
	s := FromSecret(read)
	if usable(s.Current, now) {
		err = r.publisher.publish(ctx, places, s.Bundle())
		s.Everywhere = err == nil
		var failed error
		renewal, failed = r.renew(ctx, s.Current, places, now)
		err = errors.Join(err, failed)
	} else {
		// The Secret may be lost while leaves that its authority signed are
		// still served, or another rotator may be about to write it.
		s.Old = append(s.Old, revocation.In(read).Without(r.publisher.trusted(places))...)
	}
	step, wait := Next(s, now, r.periods)
	if step == StepWait {
		return min(wait, renewal), err
	}
	return 0, r.take(ctx, step, s, read, places)
}

// take carries out one step, which is one write of the Secret.
func (r *Rotator) take(ctx context.Context, step Step, s State, read *corev1.Secret, places []place) error {
	var fresh *Root
	if step == StepCreate || step == StepAnnounce {
		var err error
		if fresh, err = NewRoot(r.now(), r.periods); err != nil {
			return err
		}
	}
	after := s.After(step, r.now(), fresh)
	if step == StepCreate {
		// Replicas sign as soon as they see the Secret, so the API server has
		// to trust them by then. The rest would not be in time anyway, and a
		// rotator that dies over many namespaces must not begin for ever anew.
		if err := r.publisher.publish(ctx, webhooksOf(places), after.Bundle()); err != nil {
			glog.Warningf("certificate rotator: %v", err)
		}
	}
	if err := r.write(ctx, after, read); err != nil {
		return fmt.Errorf("cannot %s certificate authority: %w", step, err)
	}
	glog.Infof("certificate authority: %s", step)
	return nil
}

// write stores the state in place of the Secret that was read. It fails if another process wrote meanwhile.
func (r *Rotator) write(ctx context.Context, s State, read *corev1.Secret) error {
	if read == nil {
		var err error
		if read, err = createSecret(ctx, r.client, r.namespace, SecretName); err != nil {
			return err
		}
	}
	secret, err := ToSecret(s, read)
	if err != nil {
		return err
	}
	_, err = r.client.CoreV1().Secrets(r.namespace).Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// readSecret returns a Secret as it is now, or nil for none.
func readSecret(ctx context.Context, client kubernetes.Interface, namespace, name string) (*corev1.Secret, error) {
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read Secret %s/%s: %w", namespace, name, err)
	}
	return secret, nil
}
