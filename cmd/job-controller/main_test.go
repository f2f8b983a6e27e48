package main

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// parsed returns the settings of a process.
func parsed(t *testing.T, args ...string) (settings, error) {
	t.Helper()
	t.Setenv("POD_NAMESPACE", "")
	flags := flag.NewFlagSet("job-controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return parseWith(flags, args...)
}

// parseWith parses with the flags of glog beside those of the controller.
func parseWith(flags *flag.FlagSet, args ...string) (settings, error) {
	flag.CommandLine.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
	return parse(flags, args)
}

func TestFlags(t *testing.T) {
	bucket := "-s3Endpoint=https://s3 -s3Bucket=b -s3AccessKeyFile=a -s3SecretKeyFile=s"
	for label, c := range map[string]struct{ why, args, says string }{
		"Directory": {why: "one replica", args: "-namespace=n -runnerImage=i -directory=/states -v=1"},
		"Bucket":    {why: "several", args: "-namespace=n -runnerImage=i -s3Region=r -s3Prefix=p " + bucket},
		"Files":     {why: "somebody else signs", args: "-namespace=n -runnerImage=i -directory=d -tlsCertFile=a -tlsKeyFile=b"},
		"OneFile":   {why: "a certificate needs its key", args: "-namespace=n -runnerImage=i -directory=d -tlsCertFile=a", says: "go together"},
		"Nowhere":   {why: "the namespace cannot be guessed", args: "-runnerImage=i -directory=d", says: "the namespace is unknown"},
		"NoImage":   {why: "nor the image", args: "-namespace=n -directory=d", says: "-runnerImage is missing"},
		"NoStore":   {why: "states must not be lost", args: "-namespace=n -runnerImage=i", says: "there is no store for states"},
		"TwoStores": {why: "which one has the states?", args: "-namespace=n -runnerImage=i -directory=d -s3Region=r", says: "exclude each other"},
		"NoBucket":  {why: "part of a bucket", args: "-namespace=n -runnerImage=i -s3Endpoint=https://s3", says: "-s3Bucket is missing"},
		"NoKey":     {why: "nobody may write then", args: "-namespace=n -runnerImage=i -s3Endpoint=https://s3 -s3Bucket=b", says: "-s3AccessKeyFile is missing"},
		"Argument":  {why: "it was meant for something", args: "-namespace=n -runnerImage=i -directory=d run", says: `unexpected argument "run"`},
		"Misspelt":  {why: "a typo is told", args: "-namspace=n", says: "namspace"},
	} {
		t.Run(label, func(t *testing.T) {
			s, err := parsed(t, strings.Fields(c.args)...)
			if c.says != "" {
				require.ErrorContains(t, err, c.says, c.why)
				return
			}
			require.NoError(t, err, c.why)
			assert.Equal(t, "https://job-controller.n.svc", s.address)
		})
	}
}

// The shipped Deployment starts: its flags are known, each folder is a volume, and a volume for states outlives the pod.
func TestShippedDeployment(t *testing.T) {
	text, err := os.ReadFile("../../deployment/job-controller/controller.yaml")
	require.NoError(t, err)
	var d appsv1.Deployment
	first, _, _ := strings.Cut(string(text), "\n---\n")
	require.NoError(t, yaml.Unmarshal([]byte(first), &d))
	pod := d.Spec.Template.Spec
	s, err := parsed(t, append([]string{"-namespace=n"}, pod.Containers[0].Args...)...)
	require.NoError(t, err)
	mounts := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	volumes := map[string]corev1.VolumeSource{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	assert.NotNil(t, volumes[mounts[s.directory]].PersistentVolumeClaim)
	assert.NotNil(t, volumes[mounts[s.received]].EmptyDir)
	assert.EqualValues(t, 1, *d.Spec.Replicas)
	assert.Equal(t, appsv1.RecreateDeploymentStrategyType, d.Spec.Strategy.Type)
	ports := map[string]int{}
	for _, p := range pod.Containers[0].Ports {
		ports[p.Name] = int(p.ContainerPort)
	}
	assert.Equal(t, map[string]int{"jobs": s.port, "nodes": s.nodePort, "health": s.healthPort}, ports)
	assert.Contains(t, pod.Containers[0].Args, "-runnerImage=$("+pod.Containers[0].Env[0].Name+")")
}

// --help prints examples that can be used as they are, but for the namespace, and each flag.
func TestHelp(t *testing.T) {
	var out strings.Builder
	flags := flag.NewFlagSet("job-controller", flag.ContinueOnError)
	flags.SetOutput(&out)
	_, err := parseWith(flags, "--help")
	require.ErrorIs(t, err, flag.ErrHelp)
	var s settings
	known := flag.NewFlagSet("known", flag.ContinueOnError)
	s.define(known)
	known.VisitAll(func(f *flag.Flag) {
		assert.Contains(t, out.String(), "\n  -"+f.Name, f.Name)
		assert.NotEmpty(t, f.Usage, f.Name)
	})

	_, examples, found := strings.Cut(help, "Examples:\n")
	require.True(t, found)
	examples, _, _ = strings.Cut(strings.ReplaceAll(examples, "\\\n", " "), "\n\n")
	used := 0
	for line := range strings.Lines(examples) {
		args, is := strings.CutPrefix(strings.TrimSpace(line), name+" ")
		require.True(t, is, line)
		_, err := parsed(t, append([]string{"-namespace=n"}, strings.Fields(args)...)...)
		require.NoError(t, err, line)
		used++
	}
	assert.Equal(t, 2, used)
}

// A certificate is of files or of Orcon's own authority, and the address that of the Service unless another is set.
func TestAddress(t *testing.T) {
	s, err := parsed(t, "-namespace=n", "-runnerImage=i", "-directory=d", "-address=https://jobs.example.org:8443")
	require.NoError(t, err)
	assert.Equal(t, "https://jobs.example.org:8443", s.address)
	assert.Equal(t, os.TempDir(), s.received)
	assert.True(t, s.leaderElect)
	_, err = s.certificate(nil)
	require.NoError(t, err)
	s.certFile, s.keyFile = "/none", "/none"
	_, err = s.certificate(nil)
	require.ErrorContains(t, err, "/none")
}

// Keepers have a limit for states, and a time between checkpoints.
func TestKeeperSettings(t *testing.T) {
	s, err := parsed(t, "-namespace=n", "-runnerImage=i", "-directory=d", "-stateLimit=536870912", "-checkpointEvery=1m")
	require.NoError(t, err)
	assert.Equal(t, executor.Settings{Limit: 512 << 20, Checkpoint: time.Minute}, s.keeper)
	for _, flag := range []string{"-stateLimit=0", "-stateLimit=536870913", "-checkpointEvery=0s"} {
		_, err := parsed(t, "-namespace=n", "-runnerImage=i", "-directory=d", flag)
		require.ErrorContains(t, err, " cannot be used: choose ", flag)
	}
}

// Limits of runs are numbers; 0 is none.
func TestMost(t *testing.T) {
	s, err := parsed(t, "-namespace=n", "-runnerImage=i", "-directory=d", "-maxRuns=20", "-maxRunsPerNamespace=5")
	require.NoError(t, err)
	assert.Equal(t, run.Most{Installation: 20, Namespace: 5}, s.most)
	_, err = parsed(t, "-namespace=n", "-runnerImage=i", "-directory=d", "-maxRuns=-1")
	require.ErrorContains(t, err, "must not be negative: use 0 for none")
}
