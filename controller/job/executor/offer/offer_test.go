package offer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor/offer"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// attempt returns one with all that an attempt may have.
func attempt() executor.Attempt {
	return executor.Attempt{
		Name: executor.Name{Namespace: "ns", Run: "web-1", UID: "u", Number: 2}, Workspace: "web", Fence: 7,
		Timing: job.Timing{Lost: time.Minute, Grace: time.Second / 2}, Hold: time.Hour,
		Settings: executor.Settings{Limit: 5, Checkpoint: 3 * time.Second},
		Input: run.Input{
			Artifact: run.Artifact{Image: "image", Content: "sha256:c"}, Type: "OpenTofu", Action: "plan", Entrypoint: []string{"program"},
			Args: []string{"a"}, Env: map[string]string{"A": "b", "HOME": "/forged"}, Files: run.Files{Exclude: []string{"x"}, Rescue: []string{"y"}},
			Surroundings: run.Surroundings{Confidential: run.Confidential{Secrets: []run.SecretFile{{Name: "password", Secret: "db", Key: "k"}}}},
			Steps:        run.Steps{Planned: run.Action{Entrypoint: []string{"apply"}}, Plan: "sha256:p"},
		},
	}
}

// sent returns an attempt as a node receives it.
func sent(t *testing.T, a executor.Attempt) executor.Attempt {
	t.Helper()
	head := offer.Head(a)
	head.Program = offer.Program(a)
	text, err := proto.Marshal(head)
	require.NoError(t, err)
	var received wire.Attempt
	require.NoError(t, proto.Unmarshal(text, &received))
	return offer.Attempt(&received)
}

// JOBS.md J13 and J15: keeper, shim and program of a node have the same settings and variables as those of a pod. What an
// attempt does not name stays so, and the names of Secrets are no business of a node.
func TestSame(t *testing.T) {
	for label, a := range map[string]executor.Attempt{"Whole": attempt(), "Least": {Name: attempt().Name}} {
		t.Run(label, func(t *testing.T) {
			got := sent(t, a)
			assert.Equal(t, a.KeeperArguments(), got.KeeperArguments())
			assert.Equal(t, a.ShimArguments(), got.ShimArguments())
			assert.Equal(t, a.Environment(), got.Environment())
			assert.Equal(t, a.Name, got.Name)
			assert.Equal(t, [2]any{a.Timing, a.Fence}, [2]any{got.Timing, got.Fence})
			assert.Equal(t, [4]any{a.Input.Image, a.Input.Type, a.Input.Entrypoint, a.Input.Args},
				[4]any{got.Input.Image, got.Input.Type, got.Input.Entrypoint, got.Input.Args})
		})
	}
	assert.Equal(t, []run.SecretFile{{Name: "password"}}, sent(t, attempt()).Input.Secrets)
	assert.Equal(t, contract.Plan, sent(t, attempt()).Environment()[contract.VariablePlan])
}
