package kubejob

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

var update = flag.Bool("update", false, "write the golden files again") //nolint:gochecknoglobals // a flag

// attempt returns an attempt that uses each of its fields.
func attempt() executor.Attempt {
	return executor.Attempt{
		Name:      executor.Name{Namespace: "shop", Run: "network-7", UID: "5f7c", Number: 2},
		Workspace: "network", Fence: 9,
		Input: run.Input{
			Action: "deploy", Image: "registry.example.org/tofu@sha256:" + strings.Repeat("a", 64), Contract: "v1",
			Entrypoint: []string{"/bin/sh", "-ec"}, Args: []string{"tofu apply -var=$(whoami)"},
			Env:     map[string]string{"TF_LOG": "INFO", "PRICE": "$(ORCON_RUN) $$", "HOME": "/root"},
			Exclude: []string{".terraform", "*.$(tmp)"},
		},
		Timing:   job.Timing{Lost: time.Minute, Grace: 90*time.Second + time.Millisecond},
		Settings: executor.Settings{Limit: 1 << 20, Checkpoint: 15 * time.Second},
	}
}

// JOBS-DESIGN.md 1, 3, 10 and 14: the Job as a whole.
func TestGolden(t *testing.T) {
	got, err := yaml.Marshal(build(attempt(), Runner{
		Image: "registry.example.org/orcon/job-runner:v1", PullPolicy: corev1.PullIfNotPresent, Address: "https://job-controller.orcon-system.svc",
	}, "CERTIFICATES\n", "batch"))
	require.NoError(t, err)
	const file = "testdata/job.yaml"
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

// JOBS-DESIGN.md 13: only the keeper's container has the token, and no container may do more than the Pod Security
// Standard "restricted" permits.
func TestConfinement(t *testing.T) {
	spec := build(attempt(), Runner{}, "", "").Spec.Template.Spec
	assert.False(t, *spec.AutomountServiceAccountToken)
	assert.True(t, *spec.SecurityContext.RunAsNonRoot)
	assert.EqualValues(t, contract.User, *spec.SecurityContext.RunAsUser)
	assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, spec.SecurityContext.SeccompProfile.Type)
	for _, v := range spec.Volumes {
		assert.True(t, v.EmptyDir != nil || v.Projected != nil || v.DownwardAPI != nil, v.Name)
	}
	all := append(append([]corev1.Container{}, spec.InitContainers...), spec.Containers...)
	require.Len(t, all, 4)
	for _, c := range all {
		assert.False(t, *c.SecurityContext.AllowPrivilegeEscalation, c.Name)
		assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, c.Name)
		assert.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, c.Name)
		assert.Empty(t, c.SecurityContext.Capabilities.Add, c.Name)
		var mounted []string
		for _, m := range c.VolumeMounts {
			mounted = append(mounted, m.Name)
		}
		assert.Equal(t, c.Name == "keeper", assert.ObjectsAreEqual([]string{"identity"}, only(mounted, "identity")), c.Name)
	}
}

func only(all []string, name string) (found []string) {
	for _, one := range all {
		if one == name {
			found = append(found, one)
		}
	}
	return found
}

// The kubelet gives a program each text as it was frozen (JOBS.md J15).
func TestLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("a$()X"))).Draw(t, "text")
		assert.Equal(t, text, expanded(literal(text)))
	})
}

// expanded replaces $(NAME) by X, and $$ by $, as the kubelet does.
func expanded(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, "$$"):
			out.WriteByte('$')
			i++
		case strings.HasPrefix(rest, "$(") && strings.Contains(rest, ")"):
			out.WriteByte('X')
			i += strings.IndexByte(rest, ')')
		default:
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// The state can be captured within the time that the kubelet gives a pod (JOBS-DESIGN.md 1).
func TestTerminationGracePeriod(t *testing.T) {
	a := attempt()
	for grace, want := range map[time.Duration]int64{0: 120, time.Millisecond: 121, time.Second: 121, 90 * time.Second: 210} {
		a.Timing.Grace = grace
		assert.Equal(t, want, *build(a, Runner{}, "", "").Spec.Template.Spec.TerminationGracePeriodSeconds, grace)
	}
}
