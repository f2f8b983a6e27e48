package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Text returns what stands under a key of a ConfigMap or a Secret of the deployment's
// namespace. The error says which keys there are, and never what they hold.
func (w *World) Text(ctx context.Context, kind, name, key string) ([]byte, error) {
	data, err := w.data(ctx, kind, name)
	if err != nil {
		return nil, err
	}
	text, there := data[key]
	if !there {
		return nil, fmt.Errorf("%s %s has no key %q: it has %s", kind, name, key, strings.Join(slices.Sorted(maps.Keys(data)), ", "))
	}
	return text, nil
}

// Credentials reads those that a Secret of the deployment's namespace holds.
func (w *World) Credentials(ctx context.Context, name string) (bundle.Credentials, error) {
	data, err := w.data(ctx, "Secret", name)
	if err != nil {
		return bundle.Credentials{}, err
	}
	texts := map[string]string{}
	for key, text := range data {
		texts[key] = string(text)
	}
	return bundle.ParseCredentials(texts)
}

// Files returns the keys of ConfigMaps of the deployment's namespace as files. The same
// key twice is an error.
func (w *World) Files(ctx context.Context, names []string) (bundle.Tree, error) {
	var tree bundle.Tree
	for _, name := range names {
		data, err := w.data(ctx, "ConfigMap", name)
		if err != nil {
			return tree, err
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			if err := tree.Add(key, bundle.File{Content: data[key]}); err != nil {
				return tree, fmt.Errorf("cannot use ConfigMap %s: %w", name, err)
			}
		}
	}
	return tree, nil
}

// unreadable returns the error of an object that is named in a BundleDeployment, with the cure of one
// that does not exist.
func unreadable(kind string, key client.ObjectKey, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot read %s %s: %w: create it in namespace %s, or correct its name in the BundleDeployment",
			kind, key.Name, err, key.Namespace)
	}
	return fmt.Errorf("cannot read %s %s: %w", kind, key.Name, err)
}

// data reads a ConfigMap or a Secret.
func (w *World) data(ctx context.Context, kind, name string) (map[string][]byte, error) {
	namespace, _, _ := strings.Cut(w.owner, "/")
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if kind == "Secret" {
		var secret corev1.Secret
		if err := w.client.Get(ctx, key, &secret); err != nil {
			return nil, unreadable("Secret", key, err)
		}
		return secret.Data, nil
	}
	var configMap corev1.ConfigMap
	if err := w.client.Get(ctx, key, &configMap); err != nil {
		return nil, unreadable("ConfigMap", key, err)
	}
	data := maps.Clone(configMap.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for k, text := range configMap.Data {
		data[k] = []byte(text)
	}
	return data, nil
}
