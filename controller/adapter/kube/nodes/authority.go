package nodes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
)

const (
	// AuthorityName is the name of the Secret with the authority of RunNodes, in Orcon's own namespace.
	AuthorityName = "job-node-authority"
	// trustedField is the key of its data with further certificates to trust: the next authority, or the last one.
	trustedField = "trusted.crt"
)

// AuthoritySecret has the keys of the authority of RunNodes, in a Secret that is made once and never changed here.
type AuthoritySecret struct {
	// Live reads from the API server itself.
	Live      client.Reader
	Writer    client.Writer
	Namespace string
}

var _ controller.AuthorityKeys = AuthoritySecret{}

// Read implements controller.AuthorityKeys.
func (a AuthoritySecret) Read(ctx context.Context) (certificate, key, trusted []byte, err error) {
	var s corev1.Secret
	err = a.Live.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: AuthorityName}, &s)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cannot read Secret %s/%s: %w: restore it from a backup, or start the controller again, "+
			"which makes another one: then all nodes join anew", a.Namespace, AuthorityName, err)
	}
	return s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], s.Data[trustedField], nil
}

// Make makes the Secret if there is none.
func (a AuthoritySecret) Make(ctx context.Context, generate func() (certificate, key []byte, err error)) error {
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: AuthorityName}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	certificate, key, err := generate()
	if err != nil {
		return err
	}
	// It is applied, since the permission to create can be limited to a name only so. The name of the manager is of this
	// attempt alone: a replica that was first has the fields, and this one is refused.
	made := applycorev1.Secret(AuthorityName, a.Namespace).WithLabels(map[string]string{"app.kubernetes.io/part-of": "orcon"}).
		WithData(map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key})
	err = a.Writer.Apply(ctx, made, client.FieldOwner("job-controller-"+string(uuid.NewUUID())))
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("cannot make Secret %s/%s: %w", a.Namespace, AuthorityName, err)
	}
	return nil
}
