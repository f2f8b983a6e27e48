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
	programName    = "job-runner"
	controllerName = "job-controller"
	orconName      = "orcon"
	imageName      = "conformance.tar"
	busyboxName    = "busybox.tar"
	// nextName is another build of the agent, agentName the image of it.
	nextName  = "job-runner-next"
	agentName = "job-runner.tar"
)

// prepare builds the programs and images.
func prepare(folder string) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	build := func(args ...string) error {
		if out, err := exec.Command(filepath.Join(root, "build", "builder"), args...).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build: %w: %s", err, out)
		}
		return nil
	}
	for name, args := range map[string][]string{
		imageName: {"conformance"}, busyboxName: {"busybox"}, agentName: {"publish", programName},
	} {
		if err := build(append(args, "--tarball", filepath.Join(folder, name))...); err != nil {
			return err
		}
	}
	for _, name := range []string{programName, controllerName, orconName} {
		if err := build("build", name); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, "bin", name))
		if err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), text, 0o755)); err != nil {
			return err
		}
	}
	next := exec.Command("go", "build", "-o", filepath.Join(folder, nextName), "./cmd/"+programName)
	next.Dir, next.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := next.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build another agent: %w: %s", err, out)
	}
	return nil
}
