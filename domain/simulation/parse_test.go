package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is no scenario is refused with the line and with what was most likely meant.
func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ why, text, want string }{
		"Empty":     {"nothing happens in it", "# a title\n", "it has no step"},
		"Unknown":   {"a typing mistake", "wiat 24h\n", `f:1: not a scenario: no step reads "wiat 24h"; did you mean: wait DURATION?`},
		"Inside":    {"one in the middle", "apply a\n\nweb/0 heers\n", "f:3: not a scenario: no step reads \"web/0 heers\"; did you mean: UNIT hears"},
		"TooLong":   {"a word too many", "wait 24h long\n", "did you mean: wait DURATION?"},
		"TooShort":  {"a word that is missing", "scale web\n", "did you mean: scale NAME REPLICAS?"},
		"Strange":   {"what resembles nothing", "xyzzyxyzzy\n", "'orcon sim --steps' lists the steps"},
		"Expecting": {"an expectation of nothing", "> a\n", "nothing stands before"},
		"Several":   {"all at once", "wiat 1s\naply x\n", "f:2: "},
		"TooMany":   {"a file that is something else", strings.Repeat("xyzzyxyzzy\n", 12), "f: not a scenario: 7 more lines are wrong too"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.text))
			require.ErrorIs(t, err, ErrScenario)
			assert.Contains(t, err.Error(), tc.want, tc.why)
		})
	}
}

// A step that cannot be done says why, and what was most likely meant.
func TestStepsThatCannotBeDone(t *testing.T) {
	const shop = "-- shop.yaml --\nService db: {provides: pg, externalName: db.example.org}\nDeployment web: {consumes: pg, relations: db}\n"
	tests := map[string]struct{ why, steps, want string }{
		"NoFile":      {"a file that does not follow", "apply shp.yaml", `no file "shp.yaml" follows the steps; did you mean shop.yaml?`},
		"NoUnit":      {"a unit that was never there", "apply shop.yaml\nwbe/0 hears", "no unit wbe/0; did you mean web/0?"},
		"NoWorkload":  {"a workload that is not there", "apply shop.yaml\nscale wec 2", "there is no workload wec; did you mean web?"},
		"NoObject":    {"an object that is not there", "delete Deploymnt web", "there is no Deploymnt web; did you mean Deployment?"},
		"NoRelation":  {"an id that nobody has", "apply shop.yaml\nend relation 7", "there is no relation 7"},
		"NoID":        {"what is no id", "end relation pg", `"pg" is not a relation`},
		"NoTime":      {"what is no time", "wait soon", `"soon" is not a duration`},
		"NoNumber":    {"what is no number of pods", "apply shop.yaml\nscale web many", `"many" is not a number of pods`},
		"NoRecord":    {"an application that is not there", "apply shop.yaml\nunits wec", "there is no record of an application wec; did you mean web?"},
		"NoCondition": {"a condition that is not there", "apply shop.yaml\ncondition web Raedy True Complete", "there is no condition Raedy"},
		"Gone":        {"a pod that has gone", "apply shop.yaml\ndown web/0\nrestart agent web/0", "the pod of web/0 has gone"},
		"NoHang":      {"nobody hangs", "apply shop.yaml\nresume web/0", "no handler of web/0 hangs"},
		"NothingHeld": {"nothing waits", "apply shop.yaml\nhold delivery to web/0\ndeliver next to web/0", "nothing is on its way to web/0"},
		"Admitted":    {"nothing is wrong", "refuse apply shop.yaml", "it was admitted"},
		"Succeeded":   {"a tool that did what it should not", "apply shop.yaml\nrefuse web/0: relation-ids pg", "it ended with exit code 0 and said: pg:1"},
		"Wrong":       {"something else came", "apply shop.yaml\nrelations\n> nothing", "f:2: relations\n  expected:\n    (nothing)\n  came:\n    1 web:pg db:pg\n  before:\n"},
		"Before":      {"what happened is repeated", "apply shop.yaml\nrelations\n> nothing", "controller: relate web:pg and db:pg as 1"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			s, err := Parse("f", []byte(tc.steps+"\n"+shop))
			require.NoError(t, err)
			err = Run(s, nil)
			require.Error(t, err, tc.why)
			assert.Contains(t, err.Error(), tc.want, tc.why)
			assert.True(t, strings.HasPrefix(err.Error(), "f:"), "it says where")
		})
	}
}

// Handlers that answer each other without end are found out.
func TestRestless(t *testing.T) {
	s, err := Parse("f", []byte(`apply shop.yaml
run web/0: relation-set -r store:1 turn=x
-- shop.yaml --
StatefulSet db: {provides: "main:pg", handlers: postgres}
StatefulSet web: {consumes: "store:pg", relations: db, handlers: busybox}
-- handlers/db/main-relation-changed --
relation-set "turn=$(relation-get turn)a"
-- handlers/web/store-relation-changed --
relation-set "turn=$(relation-get turn)b"
`))
	require.NoError(t, err)
	assert.ErrorIs(t, Run(s, nil), errRestless)
}

// Both forms of manifests say the same.
func TestManifests(t *testing.T) {
	short, _, err := readManifests("Deployment web: {consumes: pg, relations: db, replicas: 3, tools: true, data.pg: {a: 1}}\nService front: {selects: web, port: 80, provides: http}\n")
	require.NoError(t, err)
	long, left, err := readManifests(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {tengu.io/consumes: pg, tengu.io/relations: db, data.tengu.io/pg: "{a: 1}\n"}}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}, annotations: {injector.tengu.io/tools: "true"}}}}
---
apiVersion: v1
kind: Service
metadata: {name: front, annotations: {tengu.io/provides: http}}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
kind: ConfigMap
metadata: {name: other}
`)
	require.NoError(t, err)
	assert.Equal(t, []string{"ConfigMap other"}, left)
	require.Len(t, short, 2)
	require.Len(t, long, 2)
	assert.Equal(t, long[0].workload, short[0].workload)
	assert.Equal(t, long[1].service, short[1].service)
	for text, want := range map[string]string{
		"Deploymnt web: {}":              "did you mean Deployment?",
		"Deployment: {}":                 "is not a kind and a name",
		"Deployment web: {consums: pg}":  "did you mean consumes?", //nolint:misspell // that is the mistake
		"Deployment web: pg":             "is a map",
		"Deployment web: {replicas: x}":  "replicas is a number",
		"- a":                            "an object begins with its kind and name",
		"a: [":                           "cannot read the manifest",
		"kind: Deployment\nspec: [a, b]": "cannot read the manifest",
	} {
		_, _, err := readManifests(text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want)
	}
}

// Whatever a file holds is played or refused.
func FuzzScenario(f *testing.F) {
	f.Add("apply a\nwait 1h\nweb/0 hears\n> x\n-- a --\nDeployment web: {consumes: pg, relations: db, handlers: x}\n-- handlers/web/leader-elected --\nis-leader\n")
	f.Add("apply a\nscale web 3\nend relation 1\n-- a --\nStatefulSet web: {peers: \"a:b\", handlers: x}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f", []byte(text))
		if err != nil || strings.Contains(text, "wait") || strings.Contains(text, "scale") || strings.Contains(text, "replicas") {
			return // which may take long, and that is meant
		}
		if err := Run(s, nil); err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "f:"))
		}
	})
}
