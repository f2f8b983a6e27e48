package certificate

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate/revocation"
)

// SecretName is the Secret that holds the authority, in Orcon's namespace.
const SecretName = revocation.Secret

// Keys and annotations of the Secret. The present authority is in the keys
// that Kubernetes knows, tls.crt and tls.key.
const (
	keyNextCertificate  = revocation.Next
	keyNextKey          = "ca.next.key"
	keyOldCertificates  = revocation.Old
	annotationPublished = "certificate.orcon.tengu.io/published"
	annotationPromoted  = "certificate.orcon.tengu.io/promoted"
)

// labelManagedBy marks what this package made.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "orcon"
)

// FromSecret reads the state. What cannot be read is as if it were not there: an authority without its key cannot sign,
// whatever the reason, and neither can one that is revoked. A nil Secret is the empty state.
func FromSecret(secret *corev1.Secret) State {
	if secret == nil {
		return State{}
	}
	gone := revocation.In(secret)
	s := State{
		Old:       gone.Without(ParseBundle(secret.Data[keyOldCertificates])),
		Published: moment(secret, annotationPublished),
		Promoted:  moment(secret, annotationPromoted),
	}
	if r, err := ParseRoot(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err == nil && !gone.Has(r.Certificate) {
		s.Current = r
	}
	if r, err := ParseRoot(secret.Data[keyNextCertificate], secret.Data[keyNextKey]); err == nil && !gone.Has(r.Certificate) {
		s.Next = r
	}
	return s
}

// moment reads an annotation as a time. The zero time stands for one that is
// missing or cannot be read.
func moment(secret *corev1.Secret, annotation string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, secret.Annotations[annotation])
	if err != nil {
		return time.Time{}
	}
	return t
}

// createSecret creates a Secret without data: by an apply, since only the request of an apply that creates
// an object names it, as the role needs. It fails if another process has written the Secret meanwhile.
func createSecret(ctx context.Context, client kubernetes.Interface, namespace, name string) (*corev1.Secret, error) {
	want := applycore.Secret(name, namespace).WithLabels(map[string]string{labelManagedBy: managedBy})
	made, err := client.CoreV1().Secrets(namespace).Apply(ctx, want, metav1.ApplyOptions{FieldManager: FieldManager})
	if err == nil && len(made.Data) > 0 {
		err = apierrors.NewAlreadyExists(corev1.Resource("secrets"), name)
	}
	return made, err
}

// ToSecret returns the Secret for s in place of the one that was read. It keeps the resourceVersion, and labels
// and annotations of others.
func ToSecret(s State, read *corev1.Secret) (*corev1.Secret, error) {
	out := read.DeepCopy()
	setMoment(out, annotationPublished, s.Published)
	setMoment(out, annotationPromoted, s.Promoted)
	out.Data = map[string][]byte{}
	if err := setRoot(out, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, s.Current); err != nil {
		return nil, err
	}
	if err := setRoot(out, keyNextCertificate, keyNextKey, s.Next); err != nil {
		return nil, err
	}
	if len(s.Old) > 0 {
		out.Data[keyOldCertificates] = Bundle(s.Old...)
	}
	return out, nil
}

// setMoment writes a time as annotation, and removes it for the zero time.
func setMoment(secret *corev1.Secret, annotation string, t time.Time) {
	if t.IsZero() {
		delete(secret.Annotations, annotation)
		return
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, annotation, t.UTC().Format(time.RFC3339Nano))
}

// setRoot writes an authority under two keys, and nothing for none.
func setRoot(secret *corev1.Secret, certificateKey, keyKey string, r *Root) error {
	if r == nil {
		return nil
	}
	certificate, key, err := r.PEM()
	if err != nil {
		return err
	}
	secret.Data[certificateKey], secret.Data[keyKey] = certificate, key
	return nil
}
