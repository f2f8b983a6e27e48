package docker_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// templates has what runs on the machine.
const templates = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: check, namespace: shop}
spec:
  image: %[1]q
  contract: v1
  actions:
    - {name: check, entrypoint: [/conformance], args: [exit, "0"]}
    - {name: wait, entrypoint: [/conformance], args: [stop]}
    - {name: late, entrypoint: [/conformance], args: [late]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: web, namespace: shop}
spec: {template: check, target: {runNode: {name: lab-1}}, lostAfter: 15s, cancelGracePeriod: 2s}
`

// begin creates a JobRun of JobWorkspace web, and run one of any.
func (f *field) begin(name, action string) {
	f.t.Helper()
	f.run("web", name, action)
}

func (f *field) run(workspace, name, action string) {
	f.t.Helper()
	f.apply(fmt.Sprintf("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobRun\nmetadata: {name: %s, namespace: shop}\n"+
		"spec: {workspace: %s, action: %s}\n", name, workspace, action))
}

// ready waits until the program of a run waits for its signal, and returns the container.
func (f *field) ready(name string) string {
	f.t.Helper()
	f.written(name)
	uid := f.value("jobrun/"+name, "{.metadata.uid}")
	c, err := engine(f.t).ContainerInspect(f.t.Context(), "orcon-"+uid+"-1", client.ContainerInspectOptions{})
	require.NoError(f.t, err)
	return c.Container.ID
}

// written returns what the program of a run has written into file ready, which is there a moment before its content.
func (f *field) written(name string) (text string) {
	f.t.Helper()
	folder := f.attempt(name)
	require.NoError(f.t, within(f.t, func() bool {
		content, err := os.ReadFile(filepath.Join(folder.State(), "ready"))
		text = string(content)
		return err == nil && text != "" && !earlier(text, string(folder))
	}))
	return text
}

// earlier reports whether a text is a time before an attempt began: the state has the file of an earlier run, which the
// keeper restores before the program starts.
func earlier(text, attempt string) bool {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return false
	}
	began, err := os.Stat(filepath.Join(attempt, "attempt.json"))
	return err != nil || at.Before(began.ModTime())
}

// sealed waits until all that a run has left waits for the controller, and checks that none of it can be read on the machine.
func (f *field) sealed(name, secret string) {
	f.t.Helper()
	folder := string(f.attempt(name))
	require.NoError(f.t, within(f.t, func() bool {
		_, err := os.Stat(f.attempt(name).Exchange().Output()) // the last that goes
		kept, _ := filepath.Glob(filepath.Join(folder, "spool", "*.request"))
		return errors.Is(err, fs.ErrNotExist) && len(kept) > 1
	}), "its state is on the disk")
	require.NoError(f.t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NotContains(f.t, string(text), secret, path)
		return err
	}))
}

// ended waits until a run has ended with the next generation, and until its container is gone.
func (f *field) ended(name, phase, generation string) {
	f.t.Helper()
	f.becomes("jobrun/"+name, phase)
	assert.Equal(f.t, "Committed "+generation, f.value("jobworkspace/web", "{.state.lastEnd.outcome} {.state.generation.number}"))
	require.NoError(f.t, within(f.t, func() bool {
		entries, err := os.ReadDir(filepath.Join(f.node, "runs"))
		return err == nil && len(entries) == 0 && f.offers() == ""
	}), "nothing is left of it")
}

// offers returns the Leases that are offers.
func (f *field) offers() string {
	return f.Kubectl(f.t, "-n", system, "get", "leases", "-l", "job.orcon.tengu.io/node", "-o", "name")
}

// expire has the certificate of the machine have ended an hour ago, while its agent is not there.
func (f *field) expire() {
	file := filepath.Join(f.node, "identity.json")
	text, err := os.ReadFile(file)
	require.NoError(f.t, err)
	var identity map[string]string
	require.NoError(f.t, json.Unmarshal(text, &identity))
	pair, err := tls.X509KeyPair([]byte(identity["certificate"]), []byte(identity["key"]))
	require.NoError(f.t, err)
	part := func(key string) []byte {
		out, err := base64.StdEncoding.DecodeString(f.Kubectl(f.t, "-n", system, "get", "secret", "job-node-authority", "-o",
			"jsonpath={.data.tls\\."+key+"}"))
		require.NoError(f.t, err)
		return out
	}
	root, err := certificate.ParseRoot(part("crt"), part("key"))
	require.NoError(f.t, err)
	leaf, err := root.Sign(&x509.Certificate{URIs: pair.Leaf.URIs, PublicKey: pair.Leaf.PublicKey, ExtKeyUsage: pair.Leaf.ExtKeyUsage},
		time.Now(), certificate.Periods{Leaf: -time.Hour, Skew: 2 * time.Hour})
	require.NoError(f.t, err)
	identity["certificate"] = string(certificate.Bundle(leaf))
	text, err = json.Marshal(identity)
	require.NoError(f.t, err)
	require.NoError(f.t, os.WriteFile(file, text, 0o600))
}

// proves checks that the machine, whose engine lets processes gain privileges, takes no run before a person accepts that, and
// that it tests itself anew when its engine is mended (JOBS.md J15).
func (f *field) proves() {
	t := f.t
	f.becomes("runnode/"+lab, "Differing")
	const found = "otherwise than the contract promises: privileges: NoNewPrivs: 1 is missing: mend its engine"
	assert.Equal(t, "privileges", f.value("runnode/"+lab, "{.status.conformance.differences[*].check}"))
	require.NoError(t, within(t, func() bool {
		return strings.Contains(f.value("jobrun/first", "{.status.conditions[*].message}"), found)
	}))
	assert.Contains(t, f.orcon("job", "node", "list"), found)
	assert.Empty(t, f.offers())
	f.orcon("job", "node", "approve", lab, "--accept", "privileges", "--yes")
	f.becomes("jobrun/first", "Succeeded")
	f.kill(f.agent)
	f.socket = docker.Socket()
	f.startAgent()
	require.NoError(t, within(t, func() bool {
		found := f.value("runnode/"+lab, "{.status.conformance.subject}: {.status.conformance.differences}")
		return strings.Contains(found, "engine ") && strings.HasSuffix(found, ": ")
	}))
	f.orcon("job", "node", "approve", lab, "--accept", "", "--yes")
	f.becomes("runnode/"+lab, "Ready")
}

// JOBS.md J13: a machine joins by a token, waits until a person adopts its key, and carries out runs: their states are
// committed, and their logs can be read. Runs outlive its agent, and the network; a machine that is revoked does no more.
func TestNode(t *testing.T) {
	f := newFieldAt(t, reached)
	f.proxy = newProxy(t, f.wire.Address())
	images := docker.Push(t, filepath.Join(docker.Folder(), imageName), filepath.Join(docker.Folder(), busyboxName))
	f.apply(fmt.Sprintf(templates, images[0]))
	f.invite()
	f.proxy.forbid(true)
	f.socket = careless(t)
	f.startAgent()
	require.NoError(t, within(t, func() bool {
		return strings.Contains(f.log(programName), "proxy http://"+f.proxy.address()+" refuses a tunnel to "+reached+": 403 Forbidden")
	}))
	f.proxy.forbid(false)
	f.becomes("runnode/"+lab, "Pending")
	f.begin("first", "check")
	require.NoError(t, within(t, func() bool {
		return strings.Contains(f.value("jobrun/first", "{.status.conditions[*].message}"), "its agent waits for a person, with key sha256:")
	}))
	assert.Empty(t, f.offers())
	assert.Contains(t, f.orcon("job", "node", "approve", lab, "--namespaces", shop, "--capacity", "20", "--yes"), "is adopted")
	f.proves()
	f.ended("first", "Succeeded", "1")
	assert.Contains(t, f.orcon("job", "node", "list"), "Ready")
	f.orcon("job", "logs", "first", "-n", shop)
	f.Kubectl(t, "label", "runnode", lab, "site=lab")
	f.orcon("job", "node", "approve", lab, "--namespaces", "test", "--yes")
	f.Kubectl(t, "patch", "runnode", lab, "--type", "merge", "-p", `{"spec":{"namespaces":["shop"]}}`)
	assert.Equal(t, `["shop"]`, f.value("runnode/"+lab, "{.spec.namespaces}"))
	t.Run("Conformance", func(t *testing.T) { f.of(t).conforms(images[0]) })
	t.Run("Content", func(t *testing.T) { f.of(t).copies(images[1]) })
	t.Run("Settings", func(t *testing.T) { f.of(t).honours(images[1]) })
	f.lends(images[1])

	f.begin("adopted", "wait")
	before := f.ready("adopted")
	f.kill(f.agent)
	f.expire()
	f.startAgent()
	require.NoError(t, within(t, func() bool {
		return f.value("runnode/"+lab, "{.status.phase}") == "Ready" && strings.Contains(f.log(programName), "is renewed")
	}))
	assert.Equal(t, before, f.ready("adopted"), "the same container goes on")
	f.orcon("job", "cancel", "adopted", "-n", shop)
	f.ended("adopted", "Cancelled", "2")

	f.begin("cut", "wait")
	container := f.ready("cut")
	text := f.written("cut")
	f.wire.Slow(time.Hour) // it carries nothing, and closes nothing
	began := time.Now()
	_, err := engine(t).ContainerKill(t.Context(), container, client.ContainerKillOptions{Signal: "SIGTERM"})
	require.NoError(t, err)
	f.sealed("cut", text)
	t.Logf("what the run left was sealed %s after the network fell silent", time.Since(began).Round(time.Second))
	f.becomes("jobrun/cut", "Lost")
	f.kill(f.agent)
	f.startAgent()
	f.wire.Slow(0)
	f.wire.Cut()
	f.wire.Mend()
	require.NoError(t, within(t, func() bool { return f.value("jobrun/cut", "{.state.end.outcome}") == "Committed" }))
	assert.Equal(t, "3", f.value("jobworkspace/web", "{.state.generation.number}"))

	f.begin("revoked", "wait")
	container = f.ready("revoked")
	f.orcon("job", "node", "revoke", lab, "--yes")
	f.becomes("jobrun/revoked", "Lost")
	f.becomes("runnode/"+lab, "Revoked")
	require.NoError(t, within(t, func() bool { return strings.Contains(f.log(programName), "the node is revoked") }))
	f.orcon("job", "unlock", "web", "-n", shop, "--because", "the machine was stolen", "--accept", "generation", "--yes")
	f.becomes("jobworkspace/web", "Ready")
	_, err = engine(t).ContainerKill(t.Context(), container, client.ContainerKillOptions{Signal: "SIGTERM"})
	require.NoError(t, err)
	require.NoError(t, within(t, func() bool { return f.offers() == "" }), "what was offered to it is forgotten")
	assert.Equal(t, "3", f.value("jobworkspace/web", "{.state.generation.number}"), "it commits nothing")
}
