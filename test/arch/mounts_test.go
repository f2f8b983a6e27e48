package arch

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// telepresence lays out what Telepresence mounts, and the environment it gives
// (PROTOTYPE.md, "develop").
func telepresence(t *testing.T) []string {
	t.Helper()
	root := t.TempDir()
	for file, text := range map[string]string{
		"etc/webhook/config/..data/tenguconfig.yaml": "initContainers: []\n",
		"etc/webhook/certs/cert.pem":                 "a certificate\n",
	} {
		at := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	// A volume's files are links, as the kubelet makes them.
	require.NoError(t, os.Symlink("..data/tenguconfig.yaml", filepath.Join(root, "etc/webhook/config/tenguconfig.yaml")))
	return []string{"TELEPRESENCE_ROOT=" + root, "TELEPRESENCE_MOUNTS=/etc/webhook/config:/etc/webhook/certs"}
}

// simulate runs the script, and proot, for real. It returns what the command
// wrote to standard output, and what the script and it wrote to standard error.
func simulate(t *testing.T, env []string, stdin string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(repository, "scripts/simulate-volume-mounts.sh"), arguments...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewBufferString(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	return out.String(), said.String(), err
}

func TestSimulateVolumeMounts(t *testing.T) {
	env := telepresence(t)
	out, said, err := simulate(t, env, "", "cat", "/etc/webhook/config/tenguconfig.yaml", "/etc/webhook/certs/cert.pem")
	require.NoError(t, err, said)
	assert.Equal(t, "initContainers: []\na certificate\n", out)

	out, _, err = simulate(t, append(env, "SHELL=/bin/sh"), "cat /etc/webhook/certs/cert.pem\nexit 3\n")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "without a command it is a shell")
	assert.Equal(t, 3, exit.ExitCode(), "whose exit code is the script's")
	assert.Contains(t, out, "a certificate")
	assert.NoFileExists(t, "/etc/webhook/certs/cert.pem", "outside nothing is mounted")
}

// A static binary of ours, which proot must follow by its system calls, sees the same.
func TestSimulateVolumeMountsWithARealBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "relations-mutating-webhook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/relations-mutating-webhook")
	build.Dir, build.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// A cluster that is not there is enough to see what the binary reads before.
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(noCluster), 0o600))
	env := append(telepresence(t), "KUBECONFIG="+kubeconfig, "POD_NAMESPACE=default")
	_, said, err := simulate(t, env, "", binary, "-tenguCfgFile=/etc/webhook/config/missing.yaml",
		"-tlsCertFile=/etc/webhook/certs/cert.pem", "-tlsKeyFile=/etc/webhook/certs/key.pem", "-alsologtostderr", "-v=4")
	require.Error(t, err)
	assert.Contains(t, said, "/etc/webhook/config/missing.yaml")
	_, said, err = simulate(t, env, "", binary, "-tenguCfgFile=/etc/webhook/config/tenguconfig.yaml",
		"-tlsCertFile=/etc/webhook/certs/cert.pem", "-tlsKeyFile=/etc/webhook/certs/key.pem", "-alsologtostderr", "-v=4")
	require.Error(t, err)
	assert.Contains(t, said, "cannot reach the API server", "the configuration is where the flag says")
}

const noCluster = `apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
`

func TestSimulateVolumeMountsNamesCauseAndCure(t *testing.T) {
	env := telepresence(t)
	tests := map[string]struct {
		why  string
		env  []string
		want string
	}{
		"Outside":   {why: "not in Telepresence's shell", env: []string{"TELEPRESENCE_ROOT=", "TELEPRESENCE_MOUNTS="}, want: "set them"},
		"NoRoot":    {why: "the connection ended", env: append(env[1:], "TELEPRESENCE_ROOT=/none"), want: "still connected"},
		"NotThere":  {why: "one volume was not mounted", env: append(env[:1:1], "TELEPRESENCE_MOUNTS=/etc/webhook/config:/etc/other"), want: "/etc/other is in TELEPRESENCE_MOUNTS"},
		"OnlyRoots": {why: "mounts are as needed as the root", env: append(env[:1:1], "TELEPRESENCE_MOUNTS="), want: "not set"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, said, err := simulate(t, tc.env, "", "true")
			require.Error(t, err, tc.why)
			assert.Contains(t, said, tc.want, tc.why)
		})
	}
}
