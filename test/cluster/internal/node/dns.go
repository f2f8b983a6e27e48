package node

import (
	"context"
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
)

// object is an object of the Kubernetes API as JSON.
type object = map[string]any

func (p Plan) coreDNS() component.Spec {
	return component.Spec{
		Name:    CoreDNS,
		Command: []string{p.Dir.Program(CoreDNS), "-conf", p.Dir.Path("Corefile")},
		Healthy: p.probe("http://" + Address + ":10055/ready"),
	}
}

// corefile answers names of the cluster; any other name does not exist, which
// a client is told at once. There are two blocks since in one of them template
// would come before kubernetes, whatever the order here.
func (p Plan) corefile() string {
	return fmt.Sprintf(`cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    bind %[1]s
    errors
    health %[1]s:10054
    ready %[1]s:10055
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig %[2]q
        pods insecure
        ttl 1
    }
}
.:53 {
    bind %[1]s
    errors
    template ANY ANY . {
        rcode NXDOMAIN
    }
}
`, Address, p.kubeconfig(CoreDNS))
}

// CreateDNS makes the Service of the DNS and the rights that CoreDNS needs.
func CreateDNS(ctx context.Context, c *rest.Client) error {
	const rbac, slices = "/apis/rbac.authorization.k8s.io/v1", "/apis/discovery.k8s.io/v1"
	var failed []error
	for _, o := range []struct {
		path   string
		object object
	}{
		{rbac + "/clusterroles", dnsRole()},
		{rbac + "/clusterrolebindings", dnsBinding()},
		{"/api/v1/namespaces/kube-system/services", dnsService()},
		{slices + "/namespaces/kube-system/endpointslices", dnsEndpoints()},
	} {
		failed = append(failed, rest.Poll(ctx, func() error { return c.Create(ctx, o.path, o.object) }))
	}
	return errors.Join(failed...)
}

func dnsRole() object {
	return object{
		"metadata": object{"name": "system:coredns"},
		"rules": []object{
			{"apiGroups": []string{""}, "resources": []string{"services", "pods", "namespaces"}, "verbs": []string{"list", "watch"}},
			{"apiGroups": []string{"discovery.k8s.io"}, "resources": []string{"endpointslices"}, "verbs": []string{"list", "watch"}},
		},
	}
}

func dnsBinding() object {
	return object{
		"metadata": object{"name": "system:coredns"},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
		"subjects": []object{{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:coredns"}},
	}
}

func dnsPorts(more func(port object)) []object {
	ports := []object{
		{"name": "dns", "port": 53, "protocol": "UDP"},
		{"name": "dns-tcp", "port": 53, "protocol": "TCP"},
	}
	for _, port := range ports {
		more(port)
	}
	return ports
}

// dnsService has no selector: CoreDNS is a process of the node, not a pod.
func dnsService() object {
	return object{
		"metadata": object{"name": "kube-dns", "labels": object{"k8s-app": "kube-dns"}},
		"spec": object{
			"clusterIP": DNSAddress,
			"ports":     dnsPorts(func(port object) { port["targetPort"] = 53 }),
		},
	}
}

func dnsEndpoints() object {
	return object{
		"metadata":    object{"name": "kube-dns-node", "labels": object{"kubernetes.io/service-name": "kube-dns"}},
		"addressType": "IPv4",
		"ports":       dnsPorts(func(object) {}),
		"endpoints":   []object{{"addresses": []string{Address}, "conditions": object{"ready": true}}},
	}
}
