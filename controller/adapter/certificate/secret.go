package certificate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretName is the Secret that holds the authority, in Orcon's namespace.
const SecretName = "orcon-ca"

// Keys and annotations of the Secret. The present authority is in the keys
// that Kubernetes knows, tls.crt and tls.key.
const (
	keyNextCertificate  = "ca.next.crt"
	keyNextKey          = "ca.next.key"
	keyOldCertificates  = "ca.old.crt"
	annotationPublished = "certificate.orcon.tengu.io/published"
	annotationPromoted  = "certificate.orcon.tengu.io/promoted"
)

// labelManagedBy marks what this package made.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "orcon"
)

// FromSecret reads the state. What cannot be read is as if it were not there:
// an authority without its key cannot sign, whatever the reason. A nil Secret
// is the empty state.
func FromSecret(secret *corev1.Secret) State {
	if secret == nil {
		return State{}
	}
	s := State{
		Old:       ParseBundle(secret.Data[keyOldCertificates]),
		Published: moment(secret, annotationPublished),
		Promoted:  moment(secret, annotationPromoted),
	}
	if r, err := ParseRoot(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err == nil {
		s.Current = r
	}
	if r, err := ParseRoot(secret.Data[keyNextCertificate], secret.Data[keyNextKey]); err == nil {
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

// ToSecret returns the Secret for s in place of the one that was read, which
// is nil if there was none. It keeps the resourceVersion, and labels and
// annotations of others.
func ToSecret(s State, namespace string, read *corev1.Secret) (*corev1.Secret, error) {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: namespace},
		Type:       corev1.SecretTypeTLS,
	}
	if read != nil {
		out = read.DeepCopy()
	}
	metav1.SetMetaDataLabel(&out.ObjectMeta, labelManagedBy, managedBy)
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
