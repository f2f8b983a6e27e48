package supervisor

import (
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/namespace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// Info describes a cluster that is ready; `cluster run` prints it as one line
// of JSON. Its names are a contract with tests (README.md).
type Info struct {
	Name       string     `json:"name"`
	Dir        state.Dir  `json:"dir"`
	Form       state.Form `json:"form"`
	Kubeconfig string     `json:"kubeconfig"`
	APIServer  string     `json:"apiServer"`
	// HostAddress is where API server and pods reach a server of the host.
	HostAddress string `json:"hostAddress"`
	// Programs is a folder with kubectl, to put in PATH.
	Programs string `json:"programs"`
	AuditLog string `json:"auditLog"`
	// Supervisor is the process to signal for an orderly end.
	Supervisor int `json:"supervisor"`
	// NetnsPID is a process in the first node's namespaces; 0 without a node.
	NetnsPID int `json:"netnsPid"`
	// Nodes are a process in the namespaces of each node, by the node's name.
	Nodes map[string]int `json:"nodes"`
	// PIDs are the components' processes by name.
	PIDs map[string]int `json:"pids"`
}

// Describe returns what a record says to users.
func Describe(r state.Record) Info {
	info := Info{
		Name: r.Name, Dir: r.Dir, Form: r.Form, Kubeconfig: r.Dir.Kubeconfig(), APIServer: r.APIServer,
		HostAddress: r.HostAddress, Programs: r.Dir.Programs(), AuditLog: r.Dir.Audit(),
		Supervisor: r.Supervisor.PID, Nodes: map[string]int{}, PIDs: map[string]int{},
	}
	for n, init := range r.Nodes {
		info.Nodes[namespace.Host(n+1)] = init.PID
	}
	info.NetnsPID = info.Nodes[namespace.Host(1)]
	for name, process := range r.Components {
		info.PIDs[name] = process.PID
	}
	return info
}

func (s *Supervisor) info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Describe(s.record)
}
