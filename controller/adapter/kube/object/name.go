package object

import "sigs.k8s.io/controller-runtime/pkg/client"

// Named gives an object its name, and returns it.
func Named[T client.Object](o T, namespace, name string) T {
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}
