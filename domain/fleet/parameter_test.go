package fleet_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// in returns a member of an environment with parameters.
func in(parameters map[string]any) fleet.Member {
	return fleet.Member{Upstream: "https://example.com/up", Namespace: data.Namespace{Environment: data.Environment{Name: "stage", Parameters: parameters}}}
}

// FLEET.md C2: environment parameters < spec.parameters < process environment < flag.
func TestParameters(t *testing.T) {
	tests := map[string]struct {
		why         string
		environment map[string]any
		given       fleet.Parameters
		want        []fleet.Parameter
	}{
		"None": {why: "the template's defaults count"},
		"Environment": {
			why:         "templates know texts only",
			environment: map[string]any{"A": "text", "B": true, "C": 3, "D": []any{"x"}, "E": ""},
			want: []fleet.Parameter{
				{"A", "text", fleet.FromEnvironment}, {"B", "true", fleet.FromEnvironment}, {"C", "3", fleet.FromEnvironment},
				{"D", `["x"]`, fleet.FromEnvironment}, {"E", "", fleet.FromEnvironment},
			},
		},
		"Set": {
			why: "the set wins", environment: map[string]any{"A": "1"}, given: fleet.Parameters{Set: map[string]string{"A": "2"}},
			want: []fleet.Parameter{{"A", "2", fleet.FromSet}},
		},
		"Process": {
			why: "a manager passes its parameters on", environment: map[string]any{"IMAGE": "1"},
			given: fleet.Parameters{Set: map[string]string{"IMAGE": "2"}, Process: map[string]string{"IMAGE": "3"}},
			want:  []fleet.Parameter{{"IMAGE", "3", fleet.FromProcess}},
		},
		"Commit": {
			why: "the tag is that of the environment's ref", environment: map[string]any{"IMAGE_TAG": "1", "IMAGE": "a"}, given: fleet.Parameters{Tag: "0123456"},
			want: []fleet.Parameter{{"IMAGE", "a", fleet.FromEnvironment}, {"IMAGE_TAG", "0123456", fleet.FromCommit}},
		},
		"Flag": {
			why: "the command line wins", environment: map[string]any{"IMAGE": "1"},
			given: fleet.Parameters{
				Set: map[string]string{"IMAGE": "2"}, Process: map[string]string{"IMAGE": "3"}, Flags: map[string]string{"IMAGE": "4"},
			},
			want: []fleet.Parameter{{"IMAGE", "4", fleet.FromFlag}},
		},
		"Repositories": {
			why: "refs are for the manager", environment: map[string]any{"INTEGRATION_UPSTREAM_REPOS": []any{}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := in(tc.environment).Parameters(tc.given)
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// A manager passes on the parameters that its chart has given to it, but not the image of its own program.
func TestProcessParameters(t *testing.T) {
	environment := map[string]string{"HOME": "/", "LOG_FILE": "x", "IMAGE": "orcon", "IMAGE_TAG": "1", "FLUENTD_IMAGE": "f", "CLOUDWATCH_SECRET": ""}
	assert.Equal(t, map[string]string{"FLUENTD_IMAGE": "f"}, fleet.ProcessParameters(func(name string) string { return environment[name] }))
}

func TestParameterWithoutText(t *testing.T) {
	_, err := in(map[string]any{"A": math.NaN()}).Parameters(fleet.Parameters{})
	require.ErrorContains(t, err, `cannot pass on parameter "A" of environment "stage"`)
}

func TestGlobals(t *testing.T) {
	m := fleet.Member{Integration: "x"}
	globals := map[string]any{"gov_slack": true, "excludeService": false}
	v, err := m.Values(globals)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"gov_slack": true, "excludeService": true}, v.Globals, "the Service has one owner")
	assert.Equal(t, false, globals["excludeService"], "the set's values stay as they are")
	v, err = fleet.Member{}.Values(globals)
	require.NoError(t, err)
	assert.Equal(t, globals, v.Globals, "the namespace's member renders what the set wants")
	for _, own := range []string{"integrations", "cronjobs"} {
		_, err = m.Values(map[string]any{own: nil})
		require.ErrorContains(t, err, own)
	}
}
