package offer

import (
	"time"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

// Head returns an attempt without its program.
func Head(a executor.Attempt) *wire.Attempt {
	return &wire.Attempt{
		Uid: a.UID, Number: int32(a.Number), Namespace: a.Namespace, Run: a.Run, Workspace: a.Workspace, Fence: a.Fence, //nolint:gosec // small
	}
}

// Program returns what the container of an attempt runs. Its variables are complete: a node does not know the whole input.
func Program(a executor.Attempt) *wire.Program {
	p := &wire.Program{
		Image: a.Input.Image, Entrypoint: a.Input.Entrypoint, Args: a.Input.Args, Env: a.Environment(), Action: a.Input.Action,
		Type: string(a.Input.Type), Exclude: a.Input.Exclude, Rescue: a.Input.Rescue,
		LostSeconds: a.Timing.Lost.Seconds(), GraceSeconds: a.Timing.Grace.Seconds(), HoldSeconds: a.Hold.Seconds(),
		Limit: a.Settings.Limit, CheckpointSeconds: a.Settings.Checkpoint.Seconds(),
	}
	for _, one := range a.Input.Secrets {
		p.Secrets = append(p.Secrets, one.Name)
	}
	return p
}

// Name returns the name of an attempt.
func Name(a *wire.Attempt) executor.Name {
	return executor.Name{Namespace: a.GetNamespace(), Run: a.GetRun(), UID: a.GetUid(), Number: int(a.GetNumber())}
}

// Attempt returns an attempt with its program, as an executor needs it.
func Attempt(a *wire.Attempt) executor.Attempt {
	p := a.GetProgram()
	of := executor.Attempt{
		Name: Name(a), Workspace: a.GetWorkspace(), Fence: a.GetFence(),
		Timing: job.Timing{Lost: seconds(p.GetLostSeconds()), Grace: seconds(p.GetGraceSeconds())}, Hold: seconds(p.GetHoldSeconds()),
		Settings: executor.Settings{Limit: p.GetLimit(), Checkpoint: seconds(p.GetCheckpointSeconds())},
		Input: run.Input{
			Artifact: run.Artifact{Image: p.GetImage()}, Entrypoint: p.GetEntrypoint(), Args: p.GetArgs(), Env: p.GetEnv(), Action: p.GetAction(),
			Type: tooltype.Type(p.GetType()), Files: run.Files{Exclude: p.GetExclude(), Rescue: p.GetRescue()},
		},
	}
	for _, name := range p.GetSecrets() {
		of.Input.Secrets = append(of.Input.Secrets, run.SecretFile{Name: name})
	}
	return of
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
