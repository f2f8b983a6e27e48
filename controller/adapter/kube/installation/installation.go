package installation

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// oldest is the oldest Kubernetes whose pods read environment from a file
// (SAFETY.md D13).
const oldest = "1.35.0-0"

// ErrTooOld says that a cluster cannot be served at all.
var ErrTooOld = errors.New("it needs to be Kubernetes 1.35 or newer, whose pods read environment from a file")

// CheckVersion finds out whether a cluster can be served. It fails with
// ErrTooOld, or with whatever kept it from finding out.
func CheckVersion(d discovery.ServerVersionInterface) error {
	info, err := d.ServerVersion()
	if err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	have, err := version.ParseSemantic(info.GitVersion)
	if err != nil {
		return fmt.Errorf("cannot read the API server's version %q: %w", info.GitVersion, err)
	}
	if have.LessThan(version.MustParseSemantic(oldest)) {
		return fmt.Errorf("the cluster is Kubernetes %s, and for Orcon %w", info.GitVersion, ErrTooOld)
	}
	return nil
}

// OwnNamespace is where this process's pod runs; empty outside a pod.
func OwnNamespace() string {
	if name := os.Getenv("POD_NAMESPACE"); name != "" {
		return name
	}
	name, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// Advice returns the advice for an installation in a namespace; empty if there is
// none (SAFETY.md S6).
func Advice(namespace string) string {
	if namespace != "default" {
		return ""
	}
	return "Orcon is installed in namespace default, so that its pods are never injected, and users who may write there can change Orcon: " +
		"install it in a namespace of its own (kubectl apply -k deployment/selfsigned makes orcon-system)"
}
