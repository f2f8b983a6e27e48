package node

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/controlplane"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// Addresses of nodes, from the range for tests of networks (RFC 2544). They
// are the same in each cluster, which has a network of its own.
const (
	// Address is the first node's own.
	Address = "198.18.0.2"
	// allPods are the addresses of pods, and of nodes.
	allPods = "198.18.0.0/17"
	// DNSAddress is that of the Service kube-dns.
	DNSAddress = "198.18.128.10"
	// cables is how many nodes can be up at once: each has a cable to the host
	// with addresses of its own.
	cables = 250
)

// address is the node's own.
func (p Plan) address() string { return fmt.Sprintf("198.18.0.%d", p.Number+1) }

// podCIDR holds the addresses of the node's pods.
func (p Plan) podCIDR() string { return fmt.Sprintf("198.18.%d.0/24", p.Number) }

// ErrNoCable says that all cables are in use.
var ErrNoCable = errors.New("no free cable")

// Cable is the pair of addresses that connects one node with the host.
type Cable struct {
	// Host is the host's address, at which the node reaches its servers.
	Host string
	// Node is the node's address, at which the host reaches the API server.
	Node string
}

// ClaimCable takes a cable that no other cluster has. The claim, an abstract
// Unix socket, ends with this process.
func ClaimCable() (Cable, io.Closer, error) {
	for n := range cables {
		claim, err := net.Listen("unix", fmt.Sprintf("@orcon-cluster-cable-%d", n))
		if err != nil {
			continue
		}
		cable := Cable{Host: fmt.Sprintf("198.19.%d.1", n), Node: fmt.Sprintf("198.19.%d.2", n)}
		if isFree(cable) {
			return cable, claim, nil
		}
		_ = claim.Close()
	}
	return Cable{}, nil, fmt.Errorf("cannot connect the node with the host: %w among %d", ErrNoCable, cables)
}

// isFree says whether no interface of the host is in the cable's network.
func isFree(c Cable) bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.Contains(net.ParseIP(c.Node)) {
			return false
		}
	}
	return true
}

// Connect lays the cable and gives the node its addresses. There is no way
// further than the host's end: any other address is unreachable at once.
// Addresses of Services need a route, since the node's own packets are routed
// before kube-proxy's rules send them elsewhere.
func Connect(d state.Dir, c Cable, init state.Process, inside *component.Launcher) error {
	outer := fmt.Sprintf(`link add %[1]s type veth peer name uplink netns %[2]d
address add %[3]s/30 dev %[1]s
link set %[1]s up
`, d.Link(), init.PID, c.Host)
	if err := ip(outer, (*exec.Cmd).Start); err != nil {
		return err
	}
	inner := fmt.Sprintf(`link set lo up
link add node type bridge
address add %s/24 dev node
link set node up
address add %s/30 dev uplink
link set uplink up
route add %s dev node
route add unreachable default
`, Address, c.Node, controlplane.ServiceCIDR)
	return ip(inner, inside.Start)
}

// Join connects a further node with the first, which has the only cable to the host and knows
// the way to the pods of all: its end of the cable between them is named n2, n3, … The host
// knows the first node's address alone, so that packets to it get that.
func (p Plan) Join(c Cable, first, init state.Process, inFirst, inside *component.Launcher) error {
	port := fmt.Sprintf("n%d", p.Number)
	outer := fmt.Sprintf("link add %s netns %d type veth peer name node netns %d\n", port, first.PID, init.PID)
	if err := ip(outer, (*exec.Cmd).Start); err != nil {
		return err
	}
	way := fmt.Sprintf(`link set %[1]s master node
link set %[1]s up
route add %[2]s via %[3]s
`, port, p.podCIDR(), p.address())
	if err := ip(way, inFirst.Start); err != nil {
		return err
	}
	inner := fmt.Sprintf(`link set lo up
address add %[1]s/24 dev node
link set node up
route add %[2]s via %[3]s
route add %[4]s via %[3]s
route add %[5]s via %[3]s
route add %[6]s dev node
route add unreachable default
`, p.address(), allPods, Address, c.Host, c.Node, controlplane.ServiceCIDR)
	if err := ip(inner, inside.Start); err != nil {
		return err
	}
	return run(exec.Command("iptables", "-t", "nat", "-A", "POSTROUTING", "-s", p.address(), "-o", "uplink", "-j", "MASQUERADE"), inFirst.Start)
}

// ip runs commands of ip(8), started by start.
func ip(commands string, start func(*exec.Cmd) error) error {
	command := exec.Command("ip", "-batch", "-")
	command.Stdin = strings.NewReader(commands)
	return run(command, start)
}

// run waits for a command that is started by start.
func run(command *exec.Cmd, start func(*exec.Cmd) error) error {
	output := &strings.Builder{}
	command.Stdout, command.Stderr = output, output
	if err := start(command); err != nil {
		return fmt.Errorf("cannot set network up: %w", err)
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("cannot set network up: %w: %s", err, output)
	}
	return nil
}
