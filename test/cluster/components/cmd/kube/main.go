// Command kube is every server of a Kubernetes cluster in one binary: the name
// it is called by, or else the first argument, names the component; the rest
// are that component's own arguments. Each component still runs as a process of its own, so that a test
// can stop, kill and restart one; linking them once saves minutes and a
// gigabyte.
//
// Nothing of Orcon comes in here: this module exists so that no other module
// ever depends on k8s.io/kubernetes.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coredns/coredns/coremain"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

// usageExit is the exit code of a call that names no known component.
const usageExit = 2

func main() {
	os.Exit(run(os.Args))
}

// run starts the component that the program's own name or args[1] names and
// returns its exit code. The component sees os.Args as if it had been a program
// of its own.
func run(args []string) int {
	components := components()
	if start, known := components[filepath.Base(args[0])]; known {
		return start()
	}
	if len(args) < 2 {
		return usage(components)
	}
	start, known := components[args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "cannot start component %q: it is not built in\n", args[1])
		return usage(components)
	}
	os.Args = args[1:]
	return start()
}

// components maps each component's name to what runs it until it ends.
func components() map[string]func() int {
	return map[string]func() int{
		"etcd":                    etcd,
		"coredns":                 coredns,
		"kube-apiserver":          command(apiserver.NewAPIServerCommand),
		"kube-controller-manager": command(controllermanager.NewControllerManagerCommand),
		"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"kube-proxy":              command(proxy.NewProxyCommand),
		"kubelet":                 command(newKubeletCommand),
	}
}

// command runs a component that is a cobra command.
func command(build func() *cobra.Command) func() int {
	return func() int { return cli.Run(build()) }
}

// etcd runs etcd, which reports failures by ending the process.
func etcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// coredns runs CoreDNS with the plugins imported above.
func coredns() int {
	coremain.Run()
	return 0
}

func usage(components map[string]func() int) int {
	names := slices.Sorted(maps.Keys(components))
	fmt.Fprintf(os.Stderr, "usage: kube COMPONENT [ARGUMENT…]\ncomponents: %s\n", strings.Join(names, " "))
	return usageExit
}
