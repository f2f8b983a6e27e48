package kubetest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Door is a reader that counts how often Secrets are read, and refuses to read them while Err is set.
type Door struct {
	Memory

	// Looks counts the reads of Secrets.
	Looks int
	// Err is the error of each.
	Err error
}

// Get implements client.Reader.
func (d *Door) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if _, is := into.(*corev1.Secret); is {
		d.Looks++
		if d.Err != nil {
			return d.Err
		}
	}
	return d.Memory.Get(ctx, key, into, opts...)
}

// Consenting returns Secret admin in the shop, which consents to be granted by db.
func Consenting(version string) *corev1.Secret {
	s := object.Named(&corev1.Secret{}, "shop", "admin")
	s.ResourceVersion, s.Type, s.Annotations = version, corev1.SecretTypeOpaque, map[string]string{secret.KeyGrantTo: "db"}
	s.Data = map[string][]byte{"password": []byte("hunter2")}
	return s
}
