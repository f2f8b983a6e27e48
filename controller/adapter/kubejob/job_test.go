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
			Action: "deploy", Artifact: run.Artifact{Image: "registry.example.org/tofu@sha256:" + strings.Repeat("a", 64)}, Contract: "v1",
			Entrypoint: []string{"/bin/sh", "-ec"}, Args: []string{"tofu apply -var=$(whoami)"},
			Env:          map[string]string{"TF_LOG": "INFO", "PRICE": "$(ORCON_RUN) $$", "HOME": "/root"},
			Files:        run.Files{Exclude: []string{".terraform", "*.$(tmp)"}},
			Surroundings: run.Surroundings{Confidential: run.Confidential{Secrets: []run.SecretFile{{Name: "known_hosts", Secret: "ssh", Key: "hosts"}}}},
		},
		Hold:     10 * time.Minute,
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
		reads := c.Name == "template" || c.Name == "keeper" // which has no log have a secret
		assert.Equal(t, reads, assert.ObjectsAreEqual([]string{"secrets"}, only(mounted, "secrets")), "JOBS.md J14: %s", c.Name)
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

// JOBS.md J14: a run without secrets has no folder of them, and the files of others can only be read.
func TestSecrets(t *testing.T) {
	a := attempt()
	for _, v := range pod(a, Runner{}).Volumes {
		if v.Name == volumeSecrets {
			assert.EqualValues(t, 0o444, *v.Projected.DefaultMode)
			assert.Equal(t, "ssh", v.Projected.Sources[0].Secret.Name)
		}
	}
	a.Input.Secrets = nil
	assert.Empty(t, secrets(nil))
	for _, m := range mounts(a) {
		assert.NotEqual(t, contract.Secrets, m.MountPath)
	}
}

// JOBS-DESIGN.md 16: the keeper writes tokens into memory, beside those of Secrets, and the template reads both.
func TestTokens(t *testing.T) {
	a := attempt()
	stored := a.Input.Secrets
	token := run.SecretFile{Name: "token", JoinToken: "lab"}
	for _, files := range [][]run.SecretFile{{token}, append(stored, token)} {
		a.Input.Secrets = files
		assert.Contains(t, keeper(a, Runner{}).Command, "--stored="+folderStored)
		assert.Contains(t, keeper(a, Runner{}).VolumeMounts, corev1.VolumeMount{Name: volumeSecrets, MountPath: contract.Secrets})
		assert.Contains(t, template(a).VolumeMounts, corev1.VolumeMount{Name: volumeSecrets, MountPath: contract.Secrets, ReadOnly: true})
		var volumes []corev1.Volume
		for _, v := range pod(a, Runner{}).Volumes {
			if v.Name == volumeSecrets || v.Name == volumeStored {
				volumes = append(volumes, v)
			}
		}
		require.Len(t, volumes, len(files))
		assert.Equal(t, corev1.StorageMediumMemory, volumes[0].EmptyDir.Medium)
		if len(files) > 1 {
			at := corev1.VolumeMount{Name: volumeStored, MountPath: folderStored, ReadOnly: true}
			assert.Contains(t, keeper(a, Runner{}).VolumeMounts, at)
			assert.Contains(t, template(a).VolumeMounts, at)
			assert.Len(t, volumes[1].Projected.Sources, 1)
		}
	}
	a.Input.Secrets = stored
	assert.NotContains(t, keeper(a, Runner{}).Command, "--stored="+folderStored)
}

// JOBS.md J16: the keeper has the working directory only for a run whose content it copies there.
func TestContent(t *testing.T) {
	for digest, want := range map[string]int{"": 0, "sha256:" + strings.Repeat("c", 64): 1} {
		a := attempt()
		a.Input.Content = digest
		found := 0
		for _, m := range keeper(a, Runner{}).VolumeMounts {
			if m.Name == "content" && m.MountPath == contract.Work && m.SubPath == "work" {
				found++
			}
		}
		assert.Equal(t, want, found)
	}
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

// The template gets each variable of the frozen input once and as it is, but for those of the contract; and each argument
// (JOBS.md J15).
func TestInputReachesTheTemplate(t *testing.T) {
	names := rapid.SampledFrom([]string{"A", "B", "HOME", "TMPDIR", "PATH", "ORCON_RUN", "ORCON_GENERATION"})
	text := rapid.StringOf(rapid.RuneFrom([]rune("a$()=\n ")))
	rapid.Check(t, func(t *rapid.T) {
		a := attempt()
		a.Input.Env = rapid.MapOf(names, text).Draw(t, "env")
		a.Input.Entrypoint = rapid.SliceOfN(text, 1, 3).Draw(t, "entrypoint")
		a.Input.Args = rapid.SliceOf(text).Draw(t, "args")
		c := build(a, Runner{}, "", "").Spec.Template.Spec.Containers[0]
		got := map[string]string{}
		for _, e := range c.Env {
			assert.NotContains(t, got, e.Name)
			got[e.Name] = expanded(e.Value)
		}
		for name, value := range a.Input.Env {
			if !contract.Reserved(name) && name != "HOME" && name != "TMPDIR" {
				assert.Equal(t, value, got[name])
			}
		}
		assert.Equal(t, contract.Home, got["HOME"])
		assert.Equal(t, a.Run, got[contract.VariableRun])
		assert.NotContains(t, got, contract.VariableGeneration, "it comes with the claim")
		var args []string
		for _, arg := range c.Args {
			args = append(args, expanded(arg))
		}
		assert.Equal(t, append(append([]string{}, a.Input.Entrypoint...), a.Input.Args...), args)
		assert.Equal(t, "--", c.Command[len(c.Command)-1], "nothing of the input is a flag of the runner")
	})
}

// An attempt without settings leaves them to the keeper.
func TestDefaults(t *testing.T) {
	a := attempt()
	a.Settings, a.Input.Exclude, a.Input.Env = executor.Settings{}, nil, nil
	job := build(a, Runner{}, "", "")
	command := strings.Join(job.Spec.Template.Spec.InitContainers[2].Command, " ")
	for _, flag := range []string{"--limit", "--checkpoint", "--exclude"} {
		assert.NotContains(t, command, flag)
	}
	assert.NotContains(t, job.Labels, labelQueue)
	assert.Equal(t, job.Labels, job.Spec.Template.Labels)
}

// Attempts, Runs and the longest names have Jobs of their own, whose names the API server takes.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range []executor.Name{{Run: "a", Number: 1}, {Run: "a", Number: 11}, {Run: "a-1", Number: 1}, {Run: strings.Repeat("a", 52), Number: 999}} {
		assert.False(t, seen[name(n)], name(n))
		assert.LessOrEqual(t, len(name(n)), 63-len("-abcde"), "the name of a pod has the name of its Job before it")
		seen[name(n)] = true
	}
}
