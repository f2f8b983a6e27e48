package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Form says which parts a cluster has.
type Form string

const (
	// ControlPlane is etcd, API server, controller manager and scheduler.
	ControlPlane Form = "control-plane"
	// Node adds containerd, kubelet, kube-proxy and DNS in own namespaces.
	Node Form = "node"
)

// ParseForm reads a form as people write it.
func ParseForm(text string) (Form, error) {
	switch form := Form(text); form {
	case ControlPlane, Node:
		return form, nil
	default:
		return "", fmt.Errorf("cannot use form %q: it must be %s or %s", text, ControlPlane, Node)
	}
}

// Record is all that is needed to describe a cluster and to end it.
type Record struct {
	Name string `json:"name"`
	Dir  Dir    `json:"dir"`
	Form Form   `json:"form"`
	// Supervisor brought the cluster up and is the parent of all processes.
	Supervisor Process `json:"supervisor"`
	// Nodes are process 1 of the namespaces of each node; none in the other form.
	Nodes []Process `json:"nodes"`
	// Components are the running ones by name.
	Components map[string]Process `json:"components"`
	// APIServer is the URL in the kubeconfig, usable on the host and inside.
	APIServer string `json:"apiServer"`
	// HostAddress is where the cluster reaches a server of the host.
	HostAddress string `json:"hostAddress"`
	// Ready is set once the cluster has been ready.
	Ready bool `json:"ready"`
}

// ID is unique to the folder; it names what cannot live below the folder.
func (d Dir) ID() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:4])
}

// Link is the host's end of the cable to the node, short enough for the
// kernel's limit of 15 bytes.
func (d Dir) Link() string { return "orcon" + d.ID() }

// Cgroup is the cgroup below which the kubelet puts the node's pods.
func (d Dir) Cgroup() string { return "orcon-" + d.ID() }

// Load reads the record. A folder without one is a start that failed at once:
// it gives a record with the folder alone.
func Load(d Dir) (Record, error) {
	if err := d.CheckOwner(); err != nil {
		return Record{}, err
	}
	data, err := os.ReadFile(d.record())
	if errors.Is(err, fs.ErrNotExist) {
		return Record{Dir: d}, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("cannot read cluster record: %w", err)
	}
	r := Record{}
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("cannot read cluster record %s: %w", d.record(), err)
	}
	r.Dir = d
	return r, nil
}

// Save replaces the record in one step, so that a reader never sees half.
func (r Record) Save() error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write cluster record: %w", err)
	}
	next := r.Dir.record() + ".next"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write cluster record: %w", err)
	}
	if err := os.Rename(next, r.Dir.record()); err != nil {
		return fmt.Errorf("cannot write cluster record: %w", err)
	}
	return nil
}

func (d Dir) record() string { return d.Path("cluster.json") }
