// Package node says what a cluster needs to run pods: Debian packages, links
// and addresses, containerd, kubelet, kube-proxy and DNS. Nothing in it routes
// a packet out of the machine.
//
// What the control plane needs must not come in.
package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// systemPath is where programs of the system are; a user's PATH may lack
	// parts of it.
	systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// policy is the file by which Debian asks whether a new package may start
	// its service.
	policy = "/usr/sbin/policy-rc.d"
	// lockWait is how long another installation is waited for.
	lockWait = 2 * time.Minute
)

var (
	// ErrNotRoot says that a node was asked for without the rights for it.
	ErrNotRoot = errors.New("it needs root: namespaces, mounts, cgroups and iptables; run as root or use --form control-plane")
	// errNoApt says that missing programs cannot be installed here.
	errNoApt = errors.New("there is no apt-get to install them; install them by hand")
)

// need is one Debian package, a file by which to see that it is there, and why.
type need struct {
	name    string
	program string
	reason  string
}

func needs() []need {
	return []need{
		{"containerd", "containerd", "runs pods"},
		{"containerd", "ctr", "imports images"},
		{"crun", "crun", "starts containers, with a quarter less work than runc"},
		{"containernetworking-plugins", pluginFolder + "/ptp", "connects pods"},
		{"iptables", "iptables", "lets kube-proxy make Services"},
		{"iproute2", "ip", "makes links and addresses"},
		{"conntrack", "conntrack", "ends connections of Services that changed"},
	}
}

// EnsureHost sees that this process may run a node and that the packages for it
// are there, and installs those that are not; apt's own words go to output.
func EnsureHost(log func(format string, args ...any), output io.Writer) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("cannot run a node: %w", ErrNotRoot)
	}
	if err := os.Setenv("PATH", os.Getenv("PATH")+":"+systemPath); err != nil {
		return fmt.Errorf("cannot set PATH: %w", err)
	}
	missing := missingPackages(log)
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("cannot run a node without %s: %w", strings.Join(missing, ", "), errNoApt)
	}
	return install(output, missing)
}

// missingPackages names each missing package once and logs why it is needed.
func missingPackages(log func(format string, args ...any)) []string {
	missing, seen := []string{}, map[string]bool{}
	for _, n := range needs() {
		if _, err := exec.LookPath(n.program); err == nil || seen[n.name] {
			continue
		}
		log("installing Debian package %s: %s", n.name, n.reason)
		missing, seen[n.name] = append(missing, n.name), true
	}
	return missing
}

// install installs packages without starting the services they bring.
func install(output io.Writer, packages []string) error {
	allow, err := forbidServices()
	if err != nil {
		return err
	}
	defer allow()
	arguments := append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)
	if err := apt(output, arguments...); err == nil {
		return nil
	}
	// The list of packages may be missing or old.
	if err := apt(output, "update", "-qq"); err != nil {
		return err
	}
	return apt(output, arguments...)
}

func apt(output io.Writer, arguments ...string) error {
	wait := fmt.Sprintf("-oDPkg::Lock::Timeout=%.0f", lockWait.Seconds())
	command := exec.Command("apt-get", append([]string{wait}, arguments...)...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	command.Stdout, command.Stderr = output, output
	if err := command.Run(); err != nil {
		return fmt.Errorf("cannot run apt-get %s: %w", strings.Join(arguments, " "), err)
	}
	return nil
}

// forbidServices keeps packages from starting services, unless the machine has
// a policy of its own; allow takes the ban back.
func forbidServices() (allow func(), err error) {
	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot forbid services: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString("#!/bin/sh\nexit 101\n"); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot forbid services: %w", err), os.Remove(policy))
	}
	return func() { _ = os.Remove(policy) }, nil
}
