package controlplane

import (
	"context"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
)

// Names of the components, which are also the subcommands of the binary.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// proxyUser is who may speak for other users to an aggregated API server.
const proxyUser = "front-proxy-client"

// etcd does not wait for the disk: a test cluster's data is never kept.
func (p Plan) etcd() component.Spec {
	client := fmt.Sprintf("https://%s:%d", loopback, p.Ports.EtcdClient)
	peer := fmt.Sprintf("http://%s:%d", loopback, p.Ports.EtcdPeer)
	return component.Spec{
		Name: Etcd,
		Command: []string{
			p.Dir.Program(Etcd),
			"--name=etcd",
			"--data-dir=" + p.Dir.Path("etcd"),
			"--unsafe-no-fsync",
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=etcd=" + peer,
			"--client-cert-auth",
			"--trusted-ca-file=" + p.Dir.PKI("etcd-ca.crt"),
			"--cert-file=" + p.Dir.PKI("etcd.crt"),
			"--key-file=" + p.Dir.PKI("etcd.key"),
			"--election-timeout=500",
			"--quota-backend-bytes=4294967296",
			"--log-level=warn",
		},
		Healthy: p.probe("etcd-ca.crt", "etcd-client", client+"/health"),
	}
}

func (p Plan) apiServer(admin *rest.Client) component.Spec {
	return component.Spec{
		Name: APIServer,
		Command: append([]string{
			p.Dir.Program(APIServer),
			fmt.Sprintf("--etcd-servers=https://%s:%d", loopback, p.Ports.EtcdClient),
			"--etcd-cafile=" + p.Dir.PKI("etcd-ca.crt"),
			"--etcd-certfile=" + p.Dir.PKI("etcd-client.crt"),
			"--etcd-keyfile=" + p.Dir.PKI("etcd-client.key"),
			"--bind-address=" + p.Bind,
			fmt.Sprintf("--secure-port=%d", p.Ports.APIServer),
			"--tls-cert-file=" + p.Dir.PKI("apiserver.crt"),
			"--tls-private-key-file=" + p.Dir.PKI("apiserver.key"),
			"--client-ca-file=" + p.Dir.PKI("ca.crt"),
			"--kubelet-certificate-authority=" + p.Dir.PKI("ca.crt"),
			"--kubelet-client-certificate=" + p.Dir.PKI("apiserver-kubelet.crt"),
			"--kubelet-client-key=" + p.Dir.PKI("apiserver-kubelet.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-cluster-ip-range=" + ServiceCIDR,
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + p.Dir.PKI("sa.pub"),
			"--service-account-signing-key-file=" + p.Dir.PKI("sa.key"),
			"--requestheader-client-ca-file=" + p.Dir.PKI("proxy-ca.crt"),
			"--requestheader-allowed-names=" + proxyUser,
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + p.Dir.PKI("proxy.crt"),
			"--proxy-client-key-file=" + p.Dir.PKI("proxy.key"),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction,PodSecurity,MutatingAdmissionWebhook",
			"--allow-privileged",
			"--profiling=false",
			// Without it, a server asked to end waits a minute for open watches.
			"--shutdown-watch-termination-grace-period=2s",
			"--audit-policy-file=" + p.Dir.Path("audit-policy.yaml"),
			"--audit-log-path=" + p.Dir.Audit(),
		}, p.advertise()...),
		Healthy: func(ctx context.Context) error { return admin.Get(ctx, "/readyz", nil) },
	}
}

// advertise keeps a loopback address out of the kubernetes Service, whose
// endpoints may not hold one.
func (p Plan) advertise() []string {
	if p.Advertise == "" {
		return []string{"--advertise-address=" + loopback, "--endpoint-reconciler-type=none"}
	}
	return []string{"--advertise-address=" + p.Advertise}
}

func (p Plan) controllerManager() component.Spec {
	kubeconfig := p.Dir.PKI("controller-manager.kubeconfig")
	return component.Spec{
		Name: ControllerManager,
		Command: []string{
			p.Dir.Program(ControllerManager),
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=" + loopback,
			fmt.Sprintf("--secure-port=%d", p.Ports.ControllerManager),
			"--tls-cert-file=" + p.Dir.PKI("controller.crt"),
			"--tls-private-key-file=" + p.Dir.PKI("controller.key"),
			"--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
			"--use-service-account-credentials",
			"--service-account-private-key-file=" + p.Dir.PKI("sa.key"),
			"--root-ca-file=" + p.Dir.PKI("ca.crt"),
			"--cluster-signing-cert-file=" + p.Dir.PKI("ca.crt"),
			"--cluster-signing-key-file=" + p.Dir.PKI("ca.key"),
			"--leader-elect=false",
			"--kube-api-qps=300",
			"--kube-api-burst=600",
			"--profiling=false",
		},
		Healthy: p.probe("ca.crt", "", fmt.Sprintf("https://%s:%d/healthz", loopback, p.Ports.ControllerManager)),
	}
}

func (p Plan) scheduler() component.Spec {
	kubeconfig := p.Dir.PKI("scheduler.kubeconfig")
	return component.Spec{
		Name: Scheduler,
		Command: []string{
			p.Dir.Program(Scheduler),
			"--config=" + p.Dir.Path("scheduler.yaml"),
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=" + loopback,
			fmt.Sprintf("--secure-port=%d", p.Ports.Scheduler),
			"--tls-cert-file=" + p.Dir.PKI("scheduler.crt"),
			"--tls-private-key-file=" + p.Dir.PKI("scheduler.key"),
		},
		Healthy: p.probe("ca.crt", "", fmt.Sprintf("https://%s:%d/healthz", loopback, p.Ports.Scheduler)),
	}
}

// probe reads certificates when first asked: the plan is made before them.
func (p Plan) probe(authority, leaf, url string) func(context.Context) error {
	var client *rest.Client
	return func(ctx context.Context) error {
		if client == nil {
			made, err := p.newProbe(authority, leaf)
			if err != nil {
				return err
			}
			if p.Dial != nil {
				made.DialBy(p.Dial)
			}
			client = made
		}
		return client.Get(ctx, url, nil)
	}
}
