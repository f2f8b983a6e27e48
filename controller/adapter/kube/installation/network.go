package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ParsePolicies reads NetworkPolicies from the documents of a manifest.
func ParsePolicies(manifest string) ([]networkingv1.NetworkPolicy, error) {
	var all []networkingv1.NetworkPolicy
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4<<10)
	for {
		var p networkingv1.NetworkPolicy
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read a NetworkPolicy: %w", err)
		}
		all = append(all, p)
	}
}

// network checks that no NetworkPolicy cuts a port of Orcon's Deployments. Without any, it reports which ports the
// ones that ship with Orcon would cut.
func network(ctx context.Context, reader client.Reader, shipped []networkingv1.NetworkPolicy) (Finding, error) {
	f := Finding{Check: "NetworkPolicies of Orcon", Result: OK}
	var deployments appsv1.DeploymentList
	var live networkingv1.NetworkPolicyList
	err := errors.Join(reader.List(ctx, &deployments, partOfOrcon), reader.List(ctx, &live))
	switch {
	case apierrors.IsForbidden(err):
		f.Result, f.Message = Skipped, "you may not list them, or Deployments"
		return f, nil
	case err != nil:
		return f, fmt.Errorf("cannot list %s: %w", f.Check, err)
	}
	var cut, would []string
	for _, d := range deployments.Items {
		cut = append(cut, Cut(&d, in(live.Items, d.Namespace))...)
		would = append(would, Cut(&d, shipped)...)
	}
	switch {
	case len(cut) > 0:
		f.Result, f.Message = Failed, "they cut "+strings.Join(cut, ", ")+": open these ports to all addresses, or remove the policies"
	case len(would) > 0:
		f.Message = "builtin:network-policies would cut " + strings.Join(would, ", ")
	}
	return f, nil
}

func in(all []networkingv1.NetworkPolicy, namespace string) []networkingv1.NetworkPolicy {
	var here []networkingv1.NetworkPolicy
	for _, p := range all {
		if p.Namespace == namespace {
			here = append(here, p)
		}
	}
	return here
}

// Cut returns the ports of a Deployment's pods that policies of its namespace do not open to all addresses.
func Cut(d *appsv1.Deployment, policies []networkingv1.NetworkPolicy) []string {
	var rules []networkingv1.NetworkPolicyIngressRule
	limited := false
	for _, p := range policies {
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(d.Spec.Template.Labels)) || onlyEgress(p.Spec.PolicyTypes) {
			continue
		}
		limited = true
		rules = append(rules, p.Spec.Ingress...)
	}
	if !limited {
		return nil
	}
	var cut []string
	spec := d.Spec.Template.Spec
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, port := range container.Ports {
			if !admitted(rules, port) {
				cut = append(cut, fmt.Sprintf("port %d (%s) of Deployment %s/%s", port.ContainerPort, port.Name, d.Namespace, d.Name))
			}
		}
	}
	return cut
}

func onlyEgress(types []networkingv1.PolicyType) bool {
	return len(types) == 1 && types[0] == networkingv1.PolicyTypeEgress
}

// admitted reports whether a rule opens the port to all addresses.
func admitted(rules []networkingv1.NetworkPolicyIngressRule, port corev1.ContainerPort) bool {
	for _, r := range rules {
		if len(r.From) > 0 {
			continue
		}
		if len(r.Ports) == 0 {
			return true
		}
		for _, p := range r.Ports {
			if covers(p, port) {
				return true
			}
		}
	}
	return false
}

func covers(p networkingv1.NetworkPolicyPort, port corev1.ContainerPort) bool {
	protocol := corev1.ProtocolTCP
	if p.Protocol != nil {
		protocol = *p.Protocol
	}
	own := port.Protocol
	if own == "" {
		own = corev1.ProtocolTCP
	}
	switch {
	case protocol != own:
		return false
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return p.Port.StrVal == port.Name
	case p.EndPort != nil:
		return p.Port.IntVal <= port.ContainerPort && port.ContainerPort <= *p.EndPort
	}
	return p.Port.IntVal == port.ContainerPort
}
