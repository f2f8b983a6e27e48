package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
)

const (
	// selftestCommand has job-runner be the program by which a machine tests itself.
	selftestCommand = "selftest"
	// selftestImage is the image of its containers, which is made on the machine: the program is mounted.
	selftestImage = "orcon-selftest:v1"
)

// tests are those of a machine by itself, with an engine of their own.
type tests struct {
	*selftest.Prover

	engine  *dockerjob.Engine
	machine *selftest.Machine
	ended   chan struct{}
}

// newTests returns the tests of a machine, whose engine removes what earlier ones have left.
func (m *machine) newTests(ctx context.Context, docker *client.Client, program string) (*tests, error) {
	folder := filepath.Join(m.folder, "test")
	err := os.MkdirAll(folder, 0o700)
	if err != nil {
		return nil, fmt.Errorf("cannot make the folder of tests: %w", err)
	}
	t := &tests{ended: make(chan struct{})}
	t.machine = &selftest.Machine{
		Image: selftestImage, Command: []string{dockerjob.Installed, selftestCommand}, Patience: 3 * time.Minute, Hindered: 15 * time.Second,
		Folder: m.folder,
	}
	t.engine, err = dockerjob.Open(ctx, dockerjob.Settings{
		Client: docker, Folder: folder, Program: program, Node: selftestCommand, Limits: m.limits,
		Keep: func(ctx context.Context, a executor.Attempt, f dockerjob.Mounts, terminate <-chan struct{}) error {
			k, err := m.keeper(a, f)
			if err != nil {
				return err
			}
			k.Terminate = terminate
			return t.machine.Keep(ctx, k.Keeper)
		},
	})
	if err != nil {
		return nil, err
	}
	t.machine.Containers = t.engine
	digest, err := digestOf(program)
	if err != nil {
		return nil, fmt.Errorf("cannot test this machine: %w", err)
	}
	t.Prover = &selftest.Prover{
		File: filepath.Join(m.folder, "proof.json"), Clock: time.Now, Drive: t.drive,
		Subject: func(ctx context.Context) (string, error) {
			engine, err := t.engine.Version(ctx)
			return "job-runner " + version + " " + digest + ", " + engine, err
		},
	}
	t.Load(ctx) // before the first call of the agent, which would report no proof
	return t, t.engine.Clear(ctx)
}

// begin tests the machine until the context ends.
func (t *tests) begin(ctx context.Context) {
	go func() {
		defer close(t.ended)
		t.Run(ctx)
	}()
}

// wait waits for the end of the tests, after that of their context.
func (t *tests) wait() {
	<-t.ended
	t.engine.Wait()
}

// drive tests the machine.
func (t *tests) drive(ctx context.Context) (conformance.Report, error) {
	folder, err := selftest.Folder()
	if err == nil {
		err = t.engine.Import(ctx, selftestImage, bytes.NewReader(folder))
	}
	if err != nil {
		return conformance.Report{}, err
	}
	return selftest.Drive(ctx, t.machine)
}

// digestOf returns the beginning of the digest of a file.
func digestOf(path string) (string, error) {
	const digits = 16
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it is only read
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))[:digits], err
}
