package aggregation

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// Registration keeps the APIService by which the API server finds the API.
type Registration struct {
	Client client.Client
	// Bundle returns the certificates by which the API server trusts this one, as PEM; nil while they are not known.
	Bundle func() []byte
}

// errNoBundle is returned while the certificates are not known.
var errNoBundle = errors.New("no certificates to trust are known yet")

// Refresh writes the certificates into the APIService if it has others.
func (r Registration) Refresh(ctx context.Context) error {
	name := people.Version + "." + people.Group
	bundle := r.Bundle()
	if len(bundle) == 0 {
		return fmt.Errorf("cannot register APIService %s: %w", name, errNoBundle)
	}
	var o unstructured.Unstructured
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &o); err != nil {
		return fmt.Errorf("cannot read APIService %s: %w", name, err)
	}
	text, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle")
	if now, err := base64.StdEncoding.DecodeString(text); err == nil && bytes.Equal(now, bundle) {
		return nil
	}
	before := o.DeepCopy()
	if err := unstructured.SetNestedField(o.Object, base64.StdEncoding.EncodeToString(bundle), "spec", "caBundle"); err != nil {
		return fmt.Errorf("cannot change APIService %s: %w", name, err)
	}
	if err := r.Client.Patch(ctx, &o, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot change APIService %s: %w", name, err)
	}
	return nil
}
