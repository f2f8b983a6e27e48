package node

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/namespace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/pki"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/teardown"

	"net"
)

// Names of the components.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
	CoreDNS    = "coredns"
)

// pluginFolder is where Debian has the network plugins.
const pluginFolder = "/usr/lib/cni"

// Plan is what the specs of a node follow from.
type Plan struct {
	// Dir and Name are the cluster's.
	Dir  state.Dir
	Name string
	// Number is the node's, from 1.
	Number int
	// APIServer is the URL in the kubeconfigs.
	APIServer string
	// Dial reaches addresses inside the node.
	Dial rest.Dial
}

// PrepareContainerd writes what containerd needs, which does not wait for the
// control plane.
func (p Plan) PrepareContainerd() error {
	if err := p.makeFolders(); err != nil {
		return err
	}
	return p.write(map[string]string{
		"containerd.toml":      p.containerdConfiguration(),
		"cni/10-node.conflist": fmt.Sprintf(networkConfiguration, p.folder().Path("cni-state"), p.podCIDR()),
	})
}

// Prepare writes what the other components need.
func (p Plan) Prepare(authority *pki.Authority) error {
	leaf, err := authority.Issue(pki.Subject{
		User: "system:node:" + p.Host(), Group: "system:nodes",
		Names: []string{p.Host()}, Addresses: []net.IP{net.ParseIP(p.address())},
	})
	if err != nil {
		return err
	}
	if err := leaf.Write(p.folder().PKI("kubelet")); err != nil {
		return err
	}
	subjects := map[string]pki.Subject{
		Kubelet:   {User: "system:node:" + p.Host(), Group: "system:nodes"},
		KubeProxy: {User: "system:kube-proxy"},
		CoreDNS:   {User: "system:coredns"},
	}
	for file, subject := range subjects {
		if err := authority.WriteKubeconfig(p.kubeconfig(file), p.Name, p.APIServer, subject); err != nil {
			return err
		}
	}
	return p.write(map[string]string{
		"kubelet.yaml":    p.kubeletConfiguration(),
		"kube-proxy.yaml": p.proxyConfiguration(),
		"Corefile":        p.corefile(),
		"pod-resolv.conf": "",
	})
}

// Specs are the components that talk to the API server. The first node has the DNS of all.
func (p Plan) Specs() []component.Spec {
	if p.Number > 1 {
		return []component.Spec{p.kubelet(), p.kubeProxy()}
	}
	return []component.Spec{p.kubelet(), p.kubeProxy(), p.coreDNS()}
}

// Host is the node's name.
func (p Plan) Host() string { return namespace.Host(p.Number) }

// folder is where the node's own files are.
func (p Plan) folder() state.Dir { return p.Dir.Node(p.Number) }

// Component tells components of the same kind apart.
func (p Plan) Component(kind string) string {
	if p.Number == 1 {
		return kind
	}
	return fmt.Sprintf("%s-%d", kind, p.Number)
}

func (p Plan) kubeconfig(component string) string { return p.folder().PKI(component + ".kubeconfig") }

func (p Plan) makeFolders() error {
	folders := []string{"pki", "logs", "cni", "cni-state", "containerd", "kubelet", "pods", "volume-plugins", "registries"}
	for _, folder := range folders {
		if err := os.MkdirAll(p.folder().Path(folder), 0o755); err != nil {
			return fmt.Errorf("cannot make folder of the node: %w", err)
		}
	}
	for _, cgroup := range teardown.Cgroups(p.folder()) {
		if err := os.MkdirAll(cgroup, 0o755); err != nil {
			return fmt.Errorf("cannot make cgroup of the node: %w", err)
		}
	}
	return nil
}

func (p Plan) write(files map[string]string) error {
	for file, text := range files {
		if err := os.WriteFile(p.folder().Path(file), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %w", file, err)
		}
	}
	return nil
}

// snapshotter is how containerd stacks layers: overlay mounts, unless the
// folder is itself on one, as in a container.
func (p Plan) snapshotter() string {
	stat := unix.Statfs_t{}
	if err := unix.Statfs(string(p.folder()), &stat); err == nil && stat.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}
