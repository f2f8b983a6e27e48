// Package controlplane says how etcd, the API server, the controller manager
// and the scheduler of one cluster are run: certificates, files, arguments and
// what proves that each is healthy.
//
// It starts nothing; what needs a node or root must not come in.
package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/pki"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

const (
	// ServiceCIDR holds the addresses of Services.
	ServiceCIDR = "198.18.128.0/20"
	// kubernetesService is the first of them, which is the API server's own.
	kubernetesService = "198.18.128.1"
	loopback          = "127.0.0.1"
)

// Ports are where the components listen.
type Ports struct {
	EtcdClient, EtcdPeer, APIServer, ControllerManager, Scheduler int
}

// Plan is what the specs of a control plane follow from.
type Plan struct {
	Dir   state.Dir
	Name  string
	Ports Ports
	// Bind is the address the API server listens on.
	Bind string
	// Advertise is the address of the API server for pods; empty where there
	// are none.
	Advertise string
	// Reach is the API server's address in the kubeconfigs.
	Reach string
	// Dial reaches the loopback addresses of the components; nil where they
	// are the supervisor's own.
	Dial rest.Dial
}

// URL is the API server's address in the kubeconfigs.
func (p Plan) URL() string {
	return "https://" + net.JoinHostPort(p.Reach, fmt.Sprint(p.Ports.APIServer))
}

// Files are the credentials that other components of the cluster need.
type Files struct {
	Authority *pki.Authority
	// Admin talks to the API server as an administrator.
	Admin *rest.Client
}

// Prepare writes all certificates, kubeconfigs and configuration files.
func (p Plan) Prepare() (Files, error) {
	for _, folder := range []string{"pki", "logs", "etcd"} {
		if err := os.MkdirAll(p.Dir.Path(folder), 0o700); err != nil {
			return Files{}, fmt.Errorf("cannot make cluster folder: %w", err)
		}
	}
	if err := p.writeConfigurations(); err != nil {
		return Files{}, err
	}
	if err := p.writeOtherAuthorities(); err != nil {
		return Files{}, err
	}
	authority, err := p.writeAuthority()
	if err != nil {
		return Files{}, err
	}
	if err := p.writeKubeconfigs(authority); err != nil {
		return Files{}, err
	}
	admin, err := p.newAdmin(authority)
	return Files{Authority: authority, Admin: admin}, err
}

// writeAuthority makes the cluster's authority, what the API server serves
// with, and the key that signs tokens of service accounts.
func (p Plan) writeAuthority() (*pki.Authority, error) {
	authority, err := pki.NewAuthority("orcon-test-cluster")
	if err != nil {
		return nil, err
	}
	if err := authority.Write(p.Dir.PKI("ca")); err != nil {
		return nil, err
	}
	subjects := map[string]pki.Subject{
		"apiserver":         p.serving("kube-apiserver"),
		"apiserver-kubelet": {User: "kube-apiserver-kubelet-client", Group: "system:masters"},
		"controller":        p.serving("kube-controller-manager"),
		"scheduler":         p.serving("kube-scheduler"),
	}
	if err := writeLeaves(p.Dir, authority, subjects); err != nil {
		return nil, err
	}
	return authority, p.writeServiceAccountKey()
}

// serving names every address at which a component may be reached.
func (p Plan) serving(user string) pki.Subject {
	s := pki.Subject{User: user, Names: []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local",
	}}
	for _, address := range []string{loopback, kubernetesService, p.Advertise, p.Reach} {
		if ip := net.ParseIP(address); ip != nil {
			s.Addresses = append(s.Addresses, ip)
		}
	}
	return s
}

func (p Plan) writeServiceAccountKey() error {
	key, private, err := pki.NewKey()
	if err != nil {
		return err
	}
	public, err := pki.EncodePublic(key)
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{"sa.key": private, "sa.pub": public} {
		if err := os.WriteFile(p.Dir.PKI(file), data, 0o600); err != nil {
			return fmt.Errorf("cannot write key of service accounts: %w", err)
		}
	}
	return nil
}

// writeOtherAuthorities keeps etcd and the API server's proxy under authorities
// of their own: whoever gets a certificate signed by the cluster must not reach
// the store, or speak for another user, with it.
func (p Plan) writeOtherAuthorities() error {
	others := map[string]map[string]pki.Subject{
		"etcd-ca": {
			"etcd":        {User: "etcd", Names: []string{"localhost"}, Addresses: []net.IP{net.ParseIP(loopback)}},
			"etcd-client": {User: "kube-apiserver"},
		},
		"proxy-ca": {"proxy": {User: proxyUser}},
	}
	for name, subjects := range others {
		authority, err := pki.NewAuthority("orcon-test-" + name)
		if err != nil {
			return err
		}
		if err := authority.Write(p.Dir.PKI(name)); err != nil {
			return err
		}
		if err := writeLeaves(p.Dir, authority, subjects); err != nil {
			return err
		}
	}
	return nil
}

func (p Plan) writeKubeconfigs(authority *pki.Authority) error {
	subjects := map[string]pki.Subject{
		p.Dir.Kubeconfig():                         {User: "admin", Group: "system:masters"},
		p.Dir.PKI("controller-manager.kubeconfig"): {User: "system:kube-controller-manager"},
		p.Dir.PKI("scheduler.kubeconfig"):          {User: "system:kube-scheduler"},
	}
	for file, subject := range subjects {
		if err := authority.WriteKubeconfig(file, p.Name, p.URL(), subject); err != nil {
			return err
		}
	}
	return nil
}

func writeLeaves(dir state.Dir, authority *pki.Authority, subjects map[string]pki.Subject) error {
	for file, subject := range subjects {
		leaf, err := authority.Issue(subject)
		if err != nil {
			return err
		}
		if err := leaf.Write(dir.PKI(file)); err != nil {
			return err
		}
	}
	return nil
}

// writeConfigurations writes what cannot be said by a flag.
func (p Plan) writeConfigurations() error {
	files := map[string]string{
		"audit-policy.yaml": auditPolicy,
		"scheduler.yaml":    fmt.Sprintf(schedulerConfiguration, p.Dir.PKI("scheduler.kubeconfig")),
	}
	for file, text := range files {
		if err := os.WriteFile(p.Dir.Path(file), []byte(text), 0o600); err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

// auditPolicy logs who did what to pods, with the annotations that admission webhooks
// add to audit events, and what Orcon's accounts did.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources:
  - group: ""
    resources: [pods]
- level: Metadata
  userGroups: ["system:serviceaccounts:orcon-system"]
- level: None
`

// schedulerConfiguration lifts the client's rate limit, for scale tests.
const schedulerConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: 500
  burst: 1000
leaderElection:
  leaderElect: false
`

// Specs are the components of the control plane in order of need.
func (p Plan) Specs(admin *rest.Client) []component.Spec {
	return []component.Spec{p.etcd(), p.apiServer(admin), p.controllerManager(), p.scheduler()}
}
