package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	input "gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// An agent that cannot begin tells what it needs. Its program is there for containers by then.
func TestAgent(t *testing.T) {
	invitation := node.Invitation{Address: "https://127.0.0.1:1", Node: "lab", Secret: "word", Authorities: []string{"sha256:a"}}
	tests := map[string]struct {
		why   string
		token string
		args  []string
		code  int
		says  string
	}{
		"unjoined": {"no token", "", []string{"--join", ""}, contract.Refused, "this machine has not joined: use --join FILE"},
		"missing":  {"the file is not there", "", []string{"--join", "/none/token"}, contract.Refused, "there is no file /none/token: put the token that orcon job node join prints into it"},
		"empty":    {"a shell made the file, and the command failed", "\n", nil, contract.Refused, "token: the file is empty: put the token that orcon job node join prints into it"},
		"broken":   {"a part of a token", "orcon-node.x", nil, contract.Refused, "use the whole word that orcon job node join printed"},
		"away":     {"no controller", invitation.String(), nil, contract.Refused, "cannot join as RunNode lab: "},
		"root":     {"runs have another user", invitation.String(), nil, contract.Refused, "it is started as root, and runs, by uid 65532, cannot use what it makes: start it by uid 65532"},
		"argument": {"a word too many", "", []string{"lab"}, contract.Misused, `unexpected argument "lab"`},
		"flag":     {"no such flag", "", []string{"--frob"}, contract.Misused, "frob"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			token := filepath.Join(folder, "token")
			if tc.token != "" {
				require.NoError(t, os.WriteFile(token, []byte(tc.token), 0o600))
			}
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			user := contract.User
			if name == "root" {
				user = 0
			}
			code, err := runAgent(ctx, user, append([]string{"--folder", folder, "--join", token, "--retry", "1ms", "--secrets", memory(t)}, tc.args...), io.Discard)
			assert.Equal(t, tc.code, code, tc.why)
			require.ErrorContains(t, err, tc.says)
			if code == contract.Refused && user != 0 {
				info, err := os.Stat(filepath.Join(folder, "job-runner"))
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o555), info.Mode())
			}
		})
	}
}

// JOBS.md J13: a run whose end is on its way does not count as lost meanwhile.
func TestHold(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	renewed := 0
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		assert.Equal(t, "/jobs/v1/runs/u/renew", r.URL.Path)
		assert.Contains(t, string(text), `"fence":7`)
		assert.Contains(t, string(text), "its node has kept it, and sends it")
		if renewed++; renewed == 2 {
			end()
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer served.Close()
	m := &machine{renew: time.Millisecond}
	m.hold(ctx, &keeping{Keeper: &keeper.Keeper{}, client: &jobsapi.Client{
		HTTP: served.Client(), Address: served.URL, Run: "u", Timeout: time.Minute, Clock: keeper.BootTime,
	}}, 7)
	assert.Equal(t, 2, renewed)
}

// JOBS.md J15: a keeper of an agent has the settings that it has in a pod, and those of its place.
func TestKeeperOfAgent(t *testing.T) {
	by := node.Invitation{Address: "https://127.0.0.1:1", Node: "lab", Secret: "word", Authorities: []string{"sha256:a"}}
	i, err := agent.New(filepath.Join(t.TempDir(), "identity.json"), by)
	require.NoError(t, err)
	m := &machine{renew: time.Second, longest: time.Minute, connection: &agent.Connection{Clock: time.Now}}
	require.NoError(t, m.connection.Use(i))
	a := executor.Attempt{
		Name: executor.Name{UID: "u", Number: 2}, Settings: executor.Settings{Limit: 5, Checkpoint: time.Hour},
		Input: input.Input{Files: input.Files{Exclude: []string{"cache/"}}},
	}
	pod, err := parseKeeper(append([]string{"--run=u", "--attempt=2", "--place=lab", "--address=" + by.Address}, a.KeeperArguments()...), io.Discard)
	require.NoError(t, err)
	k, err := m.keeper(a, "/runs/u.2")
	require.NoError(t, err)
	assert.Nil(t, k.Secrets)
	want := pod.Settings
	want.State, want.Logs, want.Scratch, want.Secrets = "/runs/u.2/state", "/runs/u.2/logs", "/runs/u.2/scratch", "/runs/u.2/secrets"
	want.Work, want.Renew, want.Retry = "/runs/u.2/content/work", time.Second, time.Minute
	want.Backend, want.Forwarded = dockerjob.Backend, true
	assert.Equal(t, want, k.Settings)
	assert.Equal(t, pod.Claimant, k.Claimant)
	assert.NotNil(t, k.Content)
	assert.Empty(t, k.client.TokenFile, "its certificate is its identity")

	a.Input.Secrets = []input.SecretFile{{Name: "password"}}
	k, err = m.keeper(a, "/runs/u.2")
	require.NoError(t, err)
	assert.NotNil(t, k.Secrets)
	a.Input.Exclude = []string{"["}
	_, err = m.keeper(a, "/runs/u.2")
	require.Error(t, err)
}

// The page of the agent has each of its flags, with what counts without it.
func TestAgentFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/run-node-agent.md")
	require.NoError(t, err)
	flags := flagsOf("agent", "", io.Discard)
	(&machine{limits: dockerjob.DefaultLimits()}).define(flags)
	rows := 0
	flags.VisitAll(func(f *flag.Flag) {
		value := "none"
		if f.DefValue != "" {
			value = "`" + f.DefValue + "`"
		}
		assert.Contains(t, string(text), "\n| `--"+f.Name+"` | "+value)
		rows++
	})
	assert.Equal(t, rows, strings.Count(string(text), "\n| `--"), "no flag is there that is gone")
}
