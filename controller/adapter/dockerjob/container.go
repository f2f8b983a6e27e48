package dockerjob

import (
	"fmt"
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
	folderContent  = "/orcon/content"
	Backend        = "127.0.0.1:9467"
)

// name returns the name of the container of an attempt, by which it is found again.
func name(n executor.Name) string { return "orcon-" + n.UID + "-" + strconv.Itoa(n.Number) }

// nameOfImage returns the name of the container that copies from the image.
func nameOfImage(n executor.Name) string { return name(n) + "-image" }

// build returns the container of an attempt. It has no right but to use the network, and writes nothing but its mounts.
func build(a executor.Attempt, f Mounts, program string, l Limits) client.ContainerCreateOptions {
	command := []string{
		installed, "shim", "--exchange=" + folderExchange, "--work=" + contract.Work, "--state=" + contract.State, "--backend=" + Backend,
	}
	o := confined(a, name(a.Name), program, l)
	for name, value := range a.Environment() {
		o.Config.Env = append(o.Config.Env, name+"="+value)
	}
	slices.Sort(o.Config.Env)
	o.Config.WorkingDir = contract.Work
	o.Config.Entrypoint = append(append(command, a.ShimArguments()...), "--")
	o.Config.Cmd = slices.Concat(a.Input.Entrypoint, a.Input.Args)
	o.HostConfig.Mounts = append(o.HostConfig.Mounts, mounts(f, len(a.Input.Secrets) > 0)...)
	return o
}

// unpacking returns the container of the template's image that copies its content and its users, before the run is claimed.
// Its log is plain text.
func unpacking(a executor.Attempt, f Mounts, program string, l Limits) client.ContainerCreateOptions {
	o := confined(a, nameOfImage(a.Name), program, l)
	o.Config.Entrypoint, o.Config.Tty = []string{installed, "unpack", folderContent}, true
	o.HostConfig.Mounts = append(o.HostConfig.Mounts, bind(f.path(contentName), folderContent))
	return o
}

// confined returns a container of the template's image with the runner alone, its rights and its limits.
func confined(a executor.Attempt, name, program string, l Limits) client.ContainerCreateOptions {
	h := &container.HostConfig{
		ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, IpcMode: container.IPCModePrivate,
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		// The output of the template is the keeper's; only the shim's own log is left to the engine.
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
		Resources: container.Resources{Memory: l.Memory, MemorySwap: l.Memory},
		Mounts:    []mount.Mount{fixed(program, installed)},
	}
	if l.Processes > 0 {
		h.PidsLimit = &l.Processes
	}
	return client.ContainerCreateOptions{
		Name: name, HostConfig: h,
		Config: &container.Config{
			Image: a.Input.Image, User: fmt.Sprintf("%d:%d", contract.User, contract.User),
			Labels: map[string]string{
				labelUID: a.UID, labelAttempt: strconv.Itoa(a.Number), labelRun: a.Run, labelWorkspace: a.Workspace, labelNamespace: a.Namespace,
			},
		},
	}
}

// mounts returns what a template sees besides its image.
func mounts(f Mounts, secrets bool) []mount.Mount {
	all := []mount.Mount{
		bind(f.path(exchangeName), folderExchange),
		bind(f.State(), contract.State),
		bind(f.Logs(), contract.Logs),
		bind(f.Work(), contract.Work),
		fixed(f.path(passwdName), "/etc/passwd"),
		fixed(f.path(groupName), "/etc/group"),
		bind(f.path(homeName), contract.Home),
		bind(f.path(temporaryName), contract.Temporary),
	}
	if secrets {
		all = append(all, fixed(f.Secrets(), contract.Secrets))
	}
	return all
}

// bind returns the mount of a path of the machine, and fixed one that cannot be written.
func bind(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target}
}

func fixed(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true}
}
