package main

import (
	"flag"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// started returns the settings of a process with arguments and variables.
func started(t *testing.T, variables map[string]string, args ...string) (settings, error) {
	t.Helper()
	flags := flag.NewFlagSet("bundle-controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flag.CommandLine.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
	return parse(flags, append([]string{"-namespace=tools"}, args...), func(name string) string { return variables[name] })
}

// A manager that the chart runs is set up by its variables alone (FLEET.md O6).
func TestVariables(t *testing.T) {
	all := map[string]string{
		"INTEGRATION_NAME": "integrations-manager", "ENVIRONMENT_NAME": "prod", "MANAGER_DRY_RUN": "--dry-run",
		"INTEGRATIONS_MANAGER_UPSTREAM": "https://example.org/up", "INTEGRATIONS_MANAGER_IMAGE": "registry:5000/image",
		"SLEEP_DURATION_SECS": "300", "LOG_FILE": "/log", "INTEGRATION_EXTRA_ARGS": "-serverURL=https://api  -leaderElect=false",
		"DRY_RUN": "--no-dry-run", "SHARDS": "1", "FLUENTD_IMAGE": "fluentd", "IMAGE": "orcon",
		"INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF": "stage=main prod=v1",
	}
	s, err := started(t, all)
	require.NoError(t, err)
	assert.Equal(t, fleetSettings{
		integration: "integrations-manager", environment: "prod", upstream: "https://example.org/up", image: "registry:5000/image",
		imageTagFromRef: imageRefs{"stage": "main", "prod": "v1"}, dryRun: true,
		process: map[string]string{"FLUENTD_IMAGE": "fluentd", "ENVIRONMENT_NAME": "prod"}, dataInterval: 5 * time.Minute,
	}, s.fleetSettings)
	assert.Equal(t, 9090, s.healthPort)
	assert.Equal(t, "/log", s.logFile)
	assert.Equal(t, "https://api", s.serverURL)
	assert.False(t, s.leaderElect)
	assert.Equal(t, 2*time.Minute, s.resync, "the interval is that of data alone")

	s, err = started(t, all, "-integration=", "-environment=stage", "-dryRun=false", "-upstream=", "-image=other", "-dataInterval=1m",
		"-logFile=", "-leaderElect", "-imageTagFromRef=stage=v2,prod=v1")
	require.NoError(t, err)
	assert.Equal(t, fleetSettings{environment: "stage", image: "other", imageTagFromRef: imageRefs{"stage": "v2", "prod": "v1"}, dataInterval: time.Minute},
		s.fleetSettings, "flags win")
	assert.Equal(t, 8081, s.healthPort)
	assert.Empty(t, s.logFile)
	assert.True(t, s.leaderElect)

	s, err = started(t, all, "-healthPort=8000")
	require.NoError(t, err)
	assert.Equal(t, 8000, s.healthPort)

	s, err = started(t, nil)
	require.NoError(t, err)
	assert.Equal(t, fleetSettings{dataInterval: 2 * time.Minute}, s.fleetSettings, "without variables nothing is different")

	s, err = started(t, map[string]string{"MANAGER_DRY_RUN": "--no-dry-run"})
	require.NoError(t, err)
	assert.False(t, s.dryRun)
}

// A value that cannot be read is an error that names the variable, the value and the cure (FLEET.md O6).
func TestUnreadableVariables(t *testing.T) {
	for _, c := range []struct{ name, value, cure string }{
		{"MANAGER_DRY_RUN", "yes", "use --dry-run to only plan, or --no-dry-run to write"},
		{"MANAGER_DRY_RUN", "true", "use --dry-run"},
		{"SLEEP_DURATION_SECS", "5m", "use a whole number of seconds from 1, such as 300"},
		{"SLEEP_DURATION_SECS", "0", "use a whole number"},
		{"SLEEP_DURATION_SECS", "-1", "use a whole number"},
		{"SLEEP_DURATION_SECS", "9999999999999", "use a whole number"},
		{"INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF", "prod", "use ENVIRONMENT=REF, such as stage=main"},
		{"INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF", "stage=main prod=", "use ENVIRONMENT=REF"},
		{"INTEGRATIONS_MANAGER_IMAGE", "example.org/a:1", "leave it out here, and set parameter IMAGE_TAG"},
		{"INTEGRATIONS_MANAGER_IMAGE", "a@sha256:12", "leave it out here"},
		{"INTEGRATION_EXTRA_ARGS", "-leadrElect=false", "use flags of bundle-controller"},
		{"INTEGRATION_EXTRA_ARGS", "-leaderElect run", `unexpected argument "run": use flags`},
		{"INTEGRATION_EXTRA_ARGS", "-resync=often", "use flags of bundle-controller"},
		{"INTEGRATION_EXTRA_ARGS", "-h", "use flags of bundle-controller"},
	} {
		_, err := started(t, map[string]string{c.name: c.value})
		require.Error(t, err, c.name+c.value)
		for _, part := range []string{c.name, `"` + c.value + `"`, c.cure} {
			assert.Contains(t, err.Error(), part)
		}
	}
}

// Every variable is listed by --help, with the flag that it sets.
func TestHelpListsVariables(t *testing.T) {
	for _, v := range presets {
		assert.Regexp(t, v.name+` +-`+v.flag, help)
	}
	assert.Contains(t, help, argumentsVariable)
}
