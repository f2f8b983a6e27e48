package dockerjob

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// The labels of a container.
const (
	labelUID       = "job.orcon.tengu.io/run-uid"
	labelAttempt   = "job.orcon.tengu.io/attempt"
	labelRun       = "job.orcon.tengu.io/run"
	labelWorkspace = "job.orcon.tengu.io/workspace"
	labelNamespace = "job.orcon.tengu.io/namespace"
)

// What is the runner's in a container, and where the shim serves the state to Terraform and OpenTofu.
const (
	installed      = "/orcon/job-runner"
	folderExchange = "/orcon/exchange"
	Backend        = "127.0.0.1:9467"
)

// name returns the name of the container of an attempt, by which it is found again.
func name(n executor.Name) string { return "orcon-" + n.UID + "-" + strconv.Itoa(n.Number) }

// build returns the container of an attempt. It has no right but to use the network, and writes nothing but its mounts.
func build(a executor.Attempt, f Mounts, program string, l Limits) client.ContainerCreateOptions {
	command := []string{
		installed, "shim", "--exchange=" + folderExchange, "--work=" + contract.Work, "--state=" + contract.State,
		"--grace=" + a.Timing.Grace.String(), "--backend=" + Backend,
	}
	if a.Hold > 0 {
		command = append(command, "--hold="+a.Hold.String())
	}
	for _, pattern := range a.Input.Rescue {
		command = append(command, "--rescue="+pattern)
	}
	var environment []string
	values := a.Environment()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		environment = append(environment, name+"="+values[name])
	}
	return client.ContainerCreateOptions{
		Name: name(a.Name),
		Config: &container.Config{
			Image: a.Input.Image, User: fmt.Sprintf("%d:%d", contract.User, contract.User), WorkingDir: contract.Work,
			Entrypoint: append(command, "--"), Cmd: slices.Concat(a.Input.Entrypoint, a.Input.Args), Env: environment,
			Labels: map[string]string{
				labelUID: a.UID, labelAttempt: strconv.Itoa(a.Number), labelRun: a.Run, labelWorkspace: a.Workspace, labelNamespace: a.Namespace,
			},
		},
		HostConfig: confined(f, program, l),
	}
}

// confined returns the rights, limits and mounts of a container.
func confined(f Mounts, program string, l Limits) *container.HostConfig {
	h := &container.HostConfig{
		ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, IpcMode: container.IPCModePrivate,
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		// The output of the template is the keeper's; only the shim's own log is left to the engine.
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
		Resources: container.Resources{Memory: l.Memory, MemorySwap: l.Memory},
		Mounts:    []mount.Mount{{Type: mount.TypeBind, Source: program, Target: installed, ReadOnly: true}},
	}
	if l.Processes > 0 {
		h.PidsLimit = &l.Processes
	}
	for _, one := range [][2]string{
		{exchangeName, folderExchange},
		{stateName, contract.State},
		{logsName, contract.Logs},
		{workName, contract.Work},
		{homeName, contract.Home},
		{temporaryName, contract.Temporary},
	} {
		h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: f.path(one[0]), Target: one[1]})
	}
	return h
}
