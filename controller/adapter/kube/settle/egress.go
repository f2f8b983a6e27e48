package settle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/egress"
)

// The port on which the controller's pods serve agents, and its name.
const (
	servingPort     = 8443
	servingPortName = "relations"
)

// egressDenied names the NetworkPolicies that keep a pod with these labels from the controller; empty for none.
func (l *lister) egressDenied(of map[string]string) string {
	if l.policies == nil {
		var list networkingv1.NetworkPolicyList
		l.list(&list)
		l.policies = &list.Items
	}
	var selecting []egress.Policy
	for i := range *l.policies {
		p := &(*l.policies)[i]
		if restrictsEgress(p) && matches(&p.Spec.PodSelector, of) {
			selecting = append(selecting, l.toPolicy(p))
		}
	}
	return strings.Join(egress.Denying(selecting, servingPort), ", ")
}

// restrictsEgress reports whether a policy is about egress, as the API defines it where the types are not set.
func restrictsEgress(p *networkingv1.NetworkPolicy) bool {
	if len(p.Spec.PolicyTypes) == 0 {
		return len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
}

func (l *lister) toPolicy(p *networkingv1.NetworkPolicy) egress.Policy {
	policy := egress.Policy{Name: p.Name}
	for _, r := range p.Spec.Egress {
		rule := egress.Rule{Reaches: len(r.To) == 0}
		for i := range r.To {
			rule.Reaches = rule.Reaches || l.reaches(&r.To[i])
		}
		for _, port := range r.Ports {
			rule.Ports = append(rule.Ports, toPorts(port))
		}
		policy.Rules = append(policy.Rules, rule)
	}
	return policy
}

// reaches reports whether a peer may be the controller. Addresses are taken for it, since they are not known here.
func (l *lister) reaches(peer *networkingv1.NetworkPolicyPeer) bool {
	if peer.IPBlock != nil {
		return true
	}
	controller := map[string]string{"app.kubernetes.io/name": "relations-controller", "app.kubernetes.io/part-of": "orcon"}
	if peer.PodSelector != nil && !matches(peer.PodSelector, controller) {
		return false
	}
	if peer.NamespaceSelector == nil {
		return l.namespace == l.home
	}
	var home corev1.Namespace
	if l.err == nil {
		l.err = client.IgnoreNotFound(l.reader.Get(l.ctx, client.ObjectKey{Name: l.home}, &home))
	}
	return matches(peer.NamespaceSelector, home.Labels)
}

func toPorts(p networkingv1.NetworkPolicyPort) egress.Ports {
	ports := egress.Ports{First: servingPort, Last: servingPort}
	switch {
	case p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP:
		return egress.Ports{}
	case p.Port == nil:
		return egress.Ports{First: 1, Last: 65535}
	case p.Port.StrVal != "" && p.Port.StrVal != servingPortName:
		return egress.Ports{}
	case p.Port.StrVal == "":
		ports = egress.Ports{First: p.Port.IntValue(), Last: p.Port.IntValue()}
	}
	if p.EndPort != nil {
		ports.Last = int(*p.EndPort)
	}
	return ports
}

// matches reports whether a selector selects labels; one that is wrong selects nothing.
func matches(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(of))
}
