package registryv1

import (
	"fmt"
	"slices"
	"strings"
)

// mode is the range of namespaces that an operator watches.
type mode string

// The install modes.
const (
	allNamespaces   mode = "AllNamespaces"
	ownNamespace    mode = "OwnNamespace"
	singleNamespace mode = "SingleNamespace"
	multiNamespace  mode = "MultiNamespace"
)

// aim sets what the operator watches, where it supports that: the namespaces that were
// asked for, else all, else its own.
func (o *operator) aim(namespace string, watch []string) error {
	var supported []string
	for _, m := range o.Spec.InstallModes {
		if m.Supported {
			supported = append(supported, string(m.Type))
		}
	}
	o.namespace, o.targets = namespace, slices.Compact(slices.Sorted(slices.Values(watch)))
	wanted := o.mode()
	if len(watch) == 0 && !slices.Contains(supported, string(allNamespaces)) && slices.Contains(supported, string(ownNamespace)) {
		o.targets, wanted = []string{namespace}, ownNamespace
	}
	if !slices.Contains(supported, string(wanted)) {
		return fmt.Errorf("cannot install %s in mode %s: it supports %s: choose the namespaces that it watches accordingly",
			o.Metadata.Name, wanted, strings.Join(supported, ", "))
	}
	if wanted == multiNamespace && slices.Contains(o.targets, namespace) && !slices.Contains(supported, string(ownNamespace)) {
		return fmt.Errorf("cannot install %s for its own namespace %q among others: it supports %s, and not %s: leave out its own namespace",
			o.Metadata.Name, namespace, strings.Join(supported, ", "), ownNamespace)
	}
	if wanted == allNamespaces {
		o.targets = []string{""}
	}
	return nil
}

// mode is that of the namespaces that were asked for.
func (o *operator) mode() mode {
	switch {
	case len(o.targets) == 0:
		return allNamespaces
	case len(o.targets) > 1:
		return multiNamespace
	case o.targets[0] == o.namespace:
		return ownNamespace
	default:
		return singleNamespace
	}
}

// everywhere reports whether the operator watches all namespaces.
func (o *operator) everywhere() bool { return o.targets[0] == "" }

// annotation is the list of namespaces as operators read it.
func (o *operator) annotation() string { return strings.Join(o.targets, ",") }
