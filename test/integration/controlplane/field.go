package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/jsonpath"
)

// reader reads objects of all kinds.
type reader struct {
	objects dynamic.Interface
	kinds   meta.ResettableRESTMapper
}

func newReader(kubeconfig string) (*reader, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot use the cluster's kubeconfig: %w", err)
	}
	config.QPS = -1
	objects, errObjects := dynamic.NewForConfig(config)
	kinds, errKinds := discovery.NewDiscoveryClientForConfig(config)
	if err := errors.Join(errObjects, errKinds); err != nil {
		return nil, fmt.Errorf("cannot use the cluster's kubeconfig: %w", err)
	}
	return &reader{objects: objects, kinds: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// errUnnamed is the error of a kind with a slash and no name, by which all would be listed.
var errUnnamed = errors.New("a name is missing after the slash")

// Field returns what `kubectl get KIND/NAME -o jsonpath=TEMPLATE` prints, or `kubectl get KIND`. Tests that wait for a
// field read it many times, and a process for each is more work than what it waits for.
func (c *Cluster) Field(ctx context.Context, namespace, object, template string) (string, error) {
	r, err := c.reader()
	if err != nil {
		return "", err
	}
	kind, name, one := strings.Cut(object, "/")
	if one && name == "" {
		return "", fmt.Errorf("%q names no object: %w", object, errUnnamed)
	}
	from, err := r.in(kind, namespace)
	if err != nil {
		return "", fmt.Errorf("cannot find kind %s: %w", kind, err)
	}
	content, err := read(ctx, from, name)
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", object, err)
	}
	path := jsonpath.New(object).AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return "", fmt.Errorf("cannot read template %s: %w", template, err)
	}
	var out strings.Builder
	if err := path.Execute(&out, content); err != nil {
		return "", fmt.Errorf("cannot print %s of %s: %w", template, object, err)
	}
	return out.String(), nil
}

// read returns the content of an object, or of the list of all if there is no name.
func read(ctx context.Context, from dynamic.ResourceInterface, name string) (map[string]any, error) {
	if name == "" {
		list, err := from.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return list.UnstructuredContent(), nil
	}
	object, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.UnstructuredContent(), nil
}

// in returns the objects of a kind, of the namespace if they are in namespaces.
func (r *reader) in(kind, namespace string) (dynamic.ResourceInterface, error) {
	resource := schema.ParseGroupResource(kind).WithVersion("")
	full, err := r.kinds.KindFor(resource)
	if meta.IsNoMatchError(err) {
		r.kinds.Reset() // it may have been defined since
		full, err = r.kinds.KindFor(resource)
	}
	if err != nil {
		return nil, err
	}
	mapping, err := r.kinds.RESTMapping(full.GroupKind(), full.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return r.objects.Resource(mapping.Resource), nil
	}
	return r.objects.Resource(mapping.Resource).Namespace(namespace), nil
}
