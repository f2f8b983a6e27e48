package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const warming = `apiVersion: race.example.org/v1
kind: Engine
metadata: {name: v8, namespace: shop, generation: 2}
status: {observedGeneration: 2, phase: Warming, conditions: [{type: Stalled, status: "False"}], readyReplicas: 1, replicas: 2}
`

// What is known of an object is printed piece by piece, with the rule that decided (CONTENT.md H4).
func TestHealthExplain(t *testing.T) {
	code, out, errs := call("", "health", "explain", "-f", write(t, "engine.yaml", warming))
	require.Equal(t, 0, code, errs)
	assert.Contains(t, out, "Engine.race.example.org shop/v8: InProgress, by the generic rule: phase is Warming\n")
	assert.Contains(t, out, "status.readyReplicas   1 of 2    negative")
	code, out, errs = call("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n", "health", "explain", "-f", "-")
	require.Equal(t, 0, code, errs)
	assert.Equal(t, "ConfigMap a: Ready, by the rule of ConfigMap\n", out)
	code, _, errs = call("", "health", "explain")
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "orcon health explain -f FILE")
}

func TestHealthList(t *testing.T) {
	code, out, errs := call("", "health", "list")
	require.Equal(t, 0, code, errs)
	assert.Regexp(t, `(?m)^Deployment\.apps +rule`, out)
	assert.Regexp(t, `(?m)^RayJob\.ray\.io +probe +https://`, out)
}

// A user's probe takes the place of Orcon's, and a case that it gets wrong is named (CONTENT.md H4).
func TestHealthTest(t *testing.T) {
	folder := t.TempDir()
	put := func(text string, path ...string) {
		file := filepath.Join(append([]string{folder}, path...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	code, _, errs := call("", "health", "test", folder)
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "there are no cases in")
	put("want: Ready\nobject: {apiVersion: ray.io/v1, kind: RayJob, status: {jobStatus: PARKED}}\n", "ray.io", "RayJob", "parked.yaml")
	code, out, errs := call("", "health", "test", folder)
	assert.Equal(t, 1, code, errs)
	assert.Contains(t, out, "parked.yaml: want Ready, got InProgress by Orcon's probe of RayJob")
	assert.Contains(t, errs, "1 of 1 cases are not as wanted")
	put("ready: object.status.jobStatus == 'PARKED'\n", "ray.io", "RayJob.yaml")
	code, out, errs = call("", "health", "test", folder)
	assert.Equal(t, 0, code, errs)
	assert.Equal(t, "all 1 cases are as wanted\n", out)
	put("want: Failing\nsays: quota\nobject: {apiVersion: example.org/v1, kind: Engine, status: {phase: Failed}}\n", "example.org", "Engine", "failed.yaml")
	code, out, _ = call("", "health", "test", folder)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, `failed.yaml: want the words "quota", got "phase is Failed"`)
	put("ready: object.\n", "ray.io", "RayJob.yaml")
	code, _, errs = call("", "health", "test", folder)
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "cannot use probe ray.io/RayJob.yaml, ready: line 1")
}
