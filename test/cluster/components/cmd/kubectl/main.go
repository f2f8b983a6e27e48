// Command kubectl is kubectl alone: it starts in half the time that it takes as a part of
// kube, and tests start it a thousand times.
package main

import (
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	// As kubectl's own main does: it prints its errors itself.
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
