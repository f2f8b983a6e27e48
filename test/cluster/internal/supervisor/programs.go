package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// names are the components of the kube binary, which knows them by the name it
// is called by.
var names = []string{ //nolint:gochecknoglobals // a constant list
	"coredns", "etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet",
}

// ErrNotBuilt says that the Kubernetes binary is missing.
var ErrNotBuilt = errors.New("it is not built; run test/cluster/build.sh (the first time takes minutes)")

// linkPrograms gives each component a name of its own, seen in ps and PATH, and kubectl.
func linkPrograms(o Options) error {
	kube := filepath.Join(o.Programs, "kube")
	if _, err := os.Stat(kube); err != nil {
		return fmt.Errorf("cannot use %s: %w", kube, ErrNotBuilt)
	}
	if err := os.Mkdir(o.Dir.Programs(), 0o700); err != nil {
		return fmt.Errorf("cannot make folder of programs: %w", err)
	}
	programs := map[string]string{"kubectl": filepath.Join(o.Programs, "kubectl")}
	for _, name := range names {
		programs[name] = kube
	}
	for name, program := range programs {
		if err := os.Symlink(program, o.Dir.Program(name)); err != nil {
			return fmt.Errorf("cannot link program %s: %w", name, err)
		}
	}
	return nil
}
