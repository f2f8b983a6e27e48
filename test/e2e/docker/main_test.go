// Package docker_test has runs carried out by containers of a real Docker engine.
package docker_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) {
	_ = flag.Set("logtostderr", "true") // glog's
	if os.Getenv(agentVariable) != "" {
		beAgent()
	}
	os.Exit(docker.Main(m, contract.User, prepare))
}

// The files that are prepared.
const (
	programName = "job-runner"
	imageName   = "conformance.tar"
)

// prepare builds the runner and the image of conformance.
func prepare(folder string) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	builder := filepath.Join(root, "build", "builder")
	for _, args := range [][]string{{"build", programName}, {"conformance", "--tarball", filepath.Join(folder, imageName)}} {
		if out, err := exec.Command(builder, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build: %w: %s", err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "bin", programName))
	return errors.Join(err, os.WriteFile(filepath.Join(folder, programName), text, 0o755))
}
