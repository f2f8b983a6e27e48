package networks

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long a cache may take to be filled. It never is without permission.
const patience = 10 * time.Second

// Read returns the networks of all ServiceCIDRs and of the pods of all nodes, and the nodes' own
// addresses, where kubelets and pods of the host's network answer. A network plugin that does not use
// the nodes' podCIDRs has pods elsewhere.
func Read(ctx context.Context, reader client.Reader) ([]netip.Prefix, error) {
	late := fmt.Errorf("no answer within %s: may the controller list servicecidrs and nodes?", patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	var services networkingv1.ServiceCIDRList
	var nodes corev1.NodeList
	for _, list := range []client.ObjectList{&services, &nodes} {
		if err := reader.List(ctx, list); err != nil {
			return nil, fmt.Errorf("cannot read the cluster's networks: %w", errors.Join(err, context.Cause(ctx)))
		}
	}
	var all []netip.Prefix
	for i := range services.Items {
		all = appendNetworks(all, services.Items[i].Spec.CIDRs...)
	}
	for i := range nodes.Items {
		all = appendNetworks(all, nodes.Items[i].Spec.PodCIDRs...)
		for _, a := range nodes.Items[i].Status.Addresses {
			if ip, err := netip.ParseAddr(a.Address); err == nil { // others are names
				all = append(all, netip.PrefixFrom(ip, ip.BitLen()))
			}
		}
	}
	return all, nil
}

func appendNetworks(all []netip.Prefix, texts ...string) []netip.Prefix {
	for _, text := range texts {
		if p, err := netip.ParsePrefix(text); err == nil { // the API server has checked it
			all = append(all, p)
		}
	}
	return all
}

// Strip removes from a node what Read does not need; it is a transform of a cache.
func Strip(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	stripped := &corev1.Node{ObjectMeta: node.ObjectMeta}
	stripped.ManagedFields, stripped.Annotations, stripped.Labels = nil, nil, nil
	stripped.Spec.PodCIDRs, stripped.Status.Addresses = node.Spec.PodCIDRs, node.Status.Addresses
	return stripped, nil
}
