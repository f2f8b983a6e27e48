package docker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	moby "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// lent is a template with a sensitive parameter, with which it does what it must not, and its JobWorkspace.
const lent = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: account, namespace: shop}
spec:
  image: %q
  contract: v1
  parameters: {type: object, properties: {password: {type: string, sensitive: true}}}
  actions:
    - name: deploy
      entrypoint: [sh, -ec]
      args:
        - |
          grep -q '"fromFile": *"/run/orcon/secrets/password"' "$ORCON_PARAMETERS"
          grep -q ' /run/orcon/secrets tmpfs ro,' /proc/mounts
          if touch /run/orcon/secrets/new 2>/dev/null; then exit 9; fi
          echo "plain $(cat "$ORCON_SECRETS/password")"
          cat "$ORCON_SECRETS/password" >/logs/copy
          echo "{\"copy\": \"$(cat "$ORCON_SECRETS/password")\"}" >"$ORCON_OUTPUTS"
    - name: wait
      entrypoint: [sh, -ec]
      args: ['echo "base64 $(base64 "$ORCON_SECRETS/password")"; trap "exit 0" TERM; echo begun >/state/ready; sleep 3600 & wait']
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: account, namespace: shop}
spec:
  template: account
  secrets: [{name: password, secret: account, key: password}]
  target: {runNode: {name: lab-1}}
`

// lends has a Secret reach a run on the machine as a file in memory, once an administrator of the namespace lets it: no object,
// log and state has its value, and no disk of the machine. It goes however the run ends, also while the agent is away (JOBS.md
// J14).
func (f *field) lends(busybox string) {
	value := "pw/" + rand.Text()
	f.Kubectl(f.t, "-n", shop, "create", "secret", "generic", "account", "--from-literal=password="+value)
	f.apply(fmt.Sprintf(lent, busybox))
	f.run("account", "waits", "wait")
	require.NoError(f.t, within(f.t, func() bool {
		return strings.Contains(f.value("jobrun/waits", "{.status.conditions[*].message}"), "to ClusterRole orcon-job-secrets")
	}))
	for _, role := range []string{"orcon-job-secrets", "orcon-job-outputs"} {
		f.Kubectl(f.t, "-n", shop, "create", "rolebinding", role, "--clusterrole="+role, "--serviceaccount="+system+":job-controller")
	}
	id := f.ready("waits")
	file := filepath.Join(f.memory, f.value("jobrun/waits", "{.metadata.uid}")+".1", "password")
	text, err := os.ReadFile(file)
	require.NoError(f.t, err)
	assert.Equal(f.t, value, string(text))
	texts := []string{value, base64.StdEncoding.EncodeToString([]byte(value))}
	f.isOnNoDisk(texts, busybox)

	f.kill(f.agent)
	_, err = engine(f.t).ContainerKill(f.t.Context(), id, client.ContainerKillOptions{Signal: "SIGKILL"})
	require.NoError(f.t, err)
	assert.FileExists(f.t, file, "there is no agent")
	f.startAgent()
	f.wiped("waits", "Failed")
	assert.Contains(f.t, f.orcon("job", "logs", "waits", "-n", shop), "base64 [redacted]")

	f.orcon("job", "state", "accept", "account", "-n", shop, "--because", "it wrote nothing but a mark", "--yes")
	f.run("account", "deploys", "deploy")
	f.wiped("deploys", "Succeeded")
	assert.Contains(f.t, f.orcon("job", "logs", "deploys", "-n", shop), "plain [redacted]")
	assert.Contains(f.t, f.orcon("job", "logs", "deploys", "-n", shop, "--file", "/logs/copy"), "[redacted]")
	out, err := base64.StdEncoding.DecodeString(f.value("secret/account-outputs", "{.data.copy}"))
	require.NoError(f.t, err)
	assert.Equal(f.t, value, string(out))
	f.isOnNoDisk(texts, busybox)
	f.isInNoObject(texts)
}

// wiped waits until a run has ended so, and until its secrets are gone.
func (f *field) wiped(name, phase string) {
	f.t.Helper()
	f.becomes("jobrun/"+name, phase)
	require.NoError(f.t, within(f.t, func() bool {
		entries, err := os.ReadDir(f.memory)
		return err == nil && len(entries) == 0
	}))
	require.NoError(f.t, within(f.t, func() bool {
		entries, err := os.ReadDir(filepath.Join(f.node, "runs"))
		return err == nil && len(entries) == 0
	}))
}

// isInNoObject looks for texts in all objects but Secrets.
func (f *field) isInNoObject(texts []string) {
	f.t.Helper()
	for kind := range strings.FieldsSeq(f.Kubectl(f.t, "api-resources", "--verbs=list", "--namespaced", "-o", "name")) {
		for _, namespace := range []string{shop, system} {
			if kind == "secrets" {
				continue
			}
			all := f.Kubectl(f.t, "-n", namespace, "get", kind, "-o", "json")
			for _, text := range texts {
				assert.NotContains(f.t, all, text, "%s of %s have it", kind, namespace)
			}
		}
	}
}

// isOnNoDisk looks for texts in what controller and agent have stored and logged, and in all that the engine has stored.
func (f *field) isOnNoDisk(texts []string, busybox string) {
	f.t.Helper()
	for _, folder := range []string{f.folder, f.node} {
		err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it went meanwhile
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(file)
			for _, text := range texts {
				assert.False(f.t, bytes.Contains(content, []byte(text)), "%s has it", file)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		require.NoError(f.t, err)
	}
	assert.Empty(f.t, f.stored(texts, busybox), "files of the engine that have it")
}

// stored returns the files of the engine's data that have one of the texts. A container looks for them, as root; it finds the
// texts in memory, so that it does not find itself.
func (f *field) stored(texts []string, busybox string) string {
	f.t.Helper()
	pattern, err := os.MkdirTemp("/dev/shm", "pattern-")
	require.NoError(f.t, err)
	defer os.RemoveAll(pattern)
	require.NoError(f.t, os.WriteFile(filepath.Join(pattern, "texts"), []byte(strings.Join(texts, "\n")), 0o600))
	c, ctx := engine(f.t), context.WithoutCancel(f.t.Context())
	made, err := c.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &moby.Config{Image: busybox, Tty: true, User: "0", Cmd: []string{"sh", "-c", "grep -rqF busybox /data/image || exit 3; grep -rslF -f /pattern/texts /data"}},
		HostConfig: &moby.HostConfig{Mounts: []mount.Mount{
			{
				Type: mount.TypeBind, Source: filepath.Join(docker.Folder(), "data"), Target: "/data", ReadOnly: true,
				BindOptions: &mount.BindOptions{NonRecursive: true}, // roots of containers that run have all processes
			},
			{Type: mount.TypeBind, Source: pattern, Target: "/pattern", ReadOnly: true},
		}},
	})
	require.NoError(f.t, err)
	defer c.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{Force: true})
	_, err = c.ContainerStart(ctx, made.ID, client.ContainerStartOptions{})
	require.NoError(f.t, err)
	w := c.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{})
	select {
	case err = <-w.Error:
	case end := <-w.Result:
		require.NotEqual(f.t, int64(3), end.StatusCode, "it cannot look")
	}
	require.NoError(f.t, err)
	log, err := c.ContainerLogs(ctx, made.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	require.NoError(f.t, err)
	defer log.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(log)
	require.NoError(f.t, err)
	return strings.TrimSpace(out.String())
}
