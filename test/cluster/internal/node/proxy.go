package node

import (
	"context"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
)

func (p Plan) kubeProxy() component.Spec {
	return component.Spec{
		Name:    p.Component(KubeProxy),
		Command: []string{p.Dir.Program(KubeProxy), "--config=" + p.folder().Path("kube-proxy.yaml")},
		Healthy: p.probe("http://127.0.0.1:10256/healthz"),
	}
}

// proxyConfiguration leaves the limits on connections alone: they are the
// machine's, not the node's.
func (p Plan) proxyConfiguration() string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: %q}
hostnameOverride: %q
bindAddress: %q
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
mode: iptables
clusterCIDR: %q
iptables: {minSyncPeriod: 100ms}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
oomScoreAdj: 0
`, p.kubeconfig(KubeProxy), p.Host(), p.address(), p.podCIDR())
}

// probe asks a health URL inside the node.
func (p Plan) probe(url string) func(context.Context) error {
	client := rest.NewPlain(p.Dial)
	return func(ctx context.Context) error { return client.Get(ctx, url, nil) }
}
