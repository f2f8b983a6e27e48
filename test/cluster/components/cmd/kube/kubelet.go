package main

import (
	"context"

	"github.com/spf13/cobra"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// newKubeletCommand exists because the kubelet's constructor alone wants a
// context.
func newKubeletCommand() *cobra.Command {
	return kubelet.NewKubeletCommand(context.Background())
}
