package jobs

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// KeysName is the name of the Secret with the keys of states, in Orcon's own namespace.
	KeysName = "job-controller-keys"
	// keysField is the key of its data.
	keysField = "keys.txt"
)

// Keys has the keys of states, in a Secret that is made once and never changed here.
type Keys struct {
	// Live reads from the API server itself.
	Live      client.Reader
	Writer    client.Writer
	Namespace string
}

// String names the Secret.
func (k Keys) String() string { return "Secret " + k.Namespace + "/" + KeysName }

// Read returns the text of the keys.
func (k Keys) Read(ctx context.Context) ([]byte, error) {
	var s corev1.Secret
	err := k.Live.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: KeysName}, &s)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s is gone: restore it from a backup, or create it with another key in %s: states that are stored wait for their own",
			k, keysField)
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", k, err)
	case len(s.Data[keysField]) == 0:
		return nil, fmt.Errorf("%s has no %s: put the file there that age-keygen writes", k, keysField)
	}
	return s.Data[keysField], nil
}

// Make makes the Secret with a new key, if there is none and no key was ever used. One that is lost is never replaced:
// what it encrypted would seem to be lost with it.
func (k Keys) Make(ctx context.Context, used []string, generate func() (string, error)) error {
	err := k.Live.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: KeysName}, &corev1.Secret{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot read %s: %w", k, err)
	}
	if len(used) > 0 {
		return fmt.Errorf("%s is gone, and states are encrypted to %s: restore it from a backup", k, strings.Join(used, ", "))
	}
	text, err := generate()
	if err != nil {
		return err
	}
	// It is applied, since the permission to create can be limited to a name only so. The name of the manager is of this
	// attempt alone: a replica that was first has the field, and this one is refused.
	made := applycorev1.Secret(KeysName, k.Namespace).
		WithLabels(map[string]string{"app.kubernetes.io/part-of": "orcon"}).WithData(map[string][]byte{keysField: []byte(text)})
	err = k.Writer.Apply(ctx, made, client.FieldOwner("job-controller-"+string(uuid.NewUUID())))
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("cannot make %s: %w", k, err)
	}
	return nil
}
