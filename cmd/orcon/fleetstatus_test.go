package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fleetOf is an API server with IntegrationSets and BundleDeployments in namespace fleet. It returns the arguments that
// name it.
func fleetOf(t *testing.T, sets, members string) []string {
	t.Helper()
	kinds := strings.Replace(kindsOf, `"resources":[`, `"resources":[{"name":"integrationsets","kind":"IntegrationSet","namespaced":true},`, 1)
	return append(answering(t, map[string]string{
		"/apis/orcon.tengu.io/v1alpha1":              kinds,
		group + "namespaces/fleet/integrationsets":   listOf("IntegrationSet", sets),
		group + "namespaces/fleet/bundledeployments": listOf("BundleDeployment", members),
		group + "integrationsets":                    listOf("IntegrationSet", sets), group + "bundledeployments": "",

		"/api/v1/namespaces/fleet": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"fleet"}}`,
	}), "-n", "fleet")
}

// setOf writes the IntegrationSet stage.
func setOf(spec, status string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"fleet","name":"stage"},"spec":{"environments":["stage"]%s},"status":{%s}}`, spec, status)
}

// memberOf writes a BundleDeployment of set stage, with shards of an integration.
func memberOf(integration, status, shards string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"fleet","name":"stage-%[1]s-1","labels":{"orcon.tengu.io/integrationset":"stage"},"annotations":{
		"orcon.tengu.io/integration":%[1]q,"orcon.tengu.io/integration-file":"/integrations/%[1]s.yml","orcon.tengu.io/integration-line":"5",
		"orcon.tengu.io/integration-namespace":"/places/stage.yml"}},
		"spec":{"render":{"installNamespace":"tools-stage","values":{"integrations":[{"name":%[1]q,"shard_specs":[%[3]s]}],"cronjobs":[]}}},"status":{%[2]s}}`,
		integration, status, shards)
}

// readyAs writes conditions of a set or member that is not ready.
func readyAs(reason, message, because string) string {
	since := time.Now().Add(-3 * time.Hour).UTC().Format(time.RFC3339)
	return fmt.Sprintf(`"conditions":[{"type":"Ready","status":"False","reason":%q,"message":%q,"lastTransitionTime":%q},{"type":%q,"status":"True","reason":%[1]q,"message":%[2]q}]`,
		reason, message, since, because)
}

// Sets and members are counted by state, and what they wait for is explained with its cure (FLEET.md P2).
func TestFleetStatus(t *testing.T) {
	const (
		settled = `"data":["git+https://example.org/data@1234"],"members":2,"readyMembers":2,` + readyNow
		removal = `"members":1,"removal":{"digest":"abcd","workloads":2,"message":"2 of 4 workloads would go: confirm abcd"},
			"waits":[{"member":"dns in /places/stage.yml","message":"2 of 4 workloads would go: confirm abcd"},{"member":"github in /places/stage.yml","message":"waits for a of wave 1"}],`
	)
	dns, github := memberOf("dns", readyNow, `{}`), memberOf("github", readyNow, `{}`)
	failing := memberOf("github", readyAs("Failed", "revision 2 failed: Deployment github: CrashLoopBackOff", "Stalled"), `{}`)
	under := memberOf("dns", readyAs("Progressing", "revision 1 is under way", "Reconciling"), `{}`)
	tests := map[string]struct {
		why           string
		sets, members string
		args          []string
		code          int
		// parts are parts of the output; a part behind "not " must be absent.
		parts []string
	}{
		"Ready": {"one line", setOf("", settled), dns + "," + github, nil, 0, []string{
			"SET     STATE   MEMBERS   READY   WAITING   FAILED   DATA\nstage   ready   2         2       0         0        git+https://example.org/data@1234\n", "not BUNDLEDEPLOYMENT"}},
		"Named": {"its members with their places", setOf("", settled), dns + "," + github, []string{"stage"}, 0, []string{
			"INTEGRATION   NAMESPACE     STATE   DECLARED                     BUNDLEDEPLOYMENT\ndns           tools-stage   ready   /integrations/dns.yml:5      stage-dns-1\n"}},
		"Members": {"by state, with their messages", setOf("", settled), under + "," + failing, nil, exitFailed, []string{
			"stage   ready   2         0       1         1", "\nfleet/stage: ready\n  dns in tools-stage: revision 1 is under way\n  github in tools-stage: revision 2 failed: Deployment github: CrashLoopBackOff\n"}},
		"Faults": {"each once, with file and line", setOf("", `"members":1,"faults":["/a.yml:3: wrong: mend it","/b.yml:4: too"],`+
			readyAs("DataFaulty", "/a.yml:3: wrong: mend it; what depends on it stays as it is (and 1 more: see status.faults)", "Stalled")), dns, nil, exitFailed, []string{
			"stage   failed", "fleet/stage: failed\n  /a.yml:3: wrong: mend it; what depends on it stays as it is (and 1 more: see status.faults)\n  /b.yml:4: too\n"}},
		"Removal": {"with the command that confirms it", setOf("", removal+readyAs("RemovalHeld", "2 of 4 workloads would go: confirm abcd", "Stalled")), dns, nil, exitFailed, []string{
			"to let the 2 workloads go: kubectl annotate integrationset stage -n fleet --overwrite orcon.tengu.io/confirm=abcd\n",
			"dns in /places/stage.yml: would go\n", "github in /places/stage.yml: waits for a of wave 1\n"}},
		"Stale": {"how long", setOf("", `"members":1,`+readyAs("FetchFailed", "no such host; members go on", "Reconciling")), dns, nil, exitFailed, []string{
			"stage   waiting", "  no such host; members go on\n  the data cannot be fetched, and the set is not ready for 3h\n"}},
		"Paused":  {"as a person has asked", setOf(`,"paused":true`, readyAs("Paused", "spec.paused is true", "Stalled")), "", nil, exitFailed, []string{"stage   waiting", "spec.paused is true"}},
		"Unseen":  {"nobody works on it", setOf("", ``), "", nil, exitFailed, []string{"no bundle controller has seen it"}},
		"None":    {"nothing is wrong", "", "", nil, 0, []string{"there are no IntegrationSets"}},
		"Unknown": {"the nearest name", setOf("", settled), "", []string{"stge"}, exitMisuse, []string{`no IntegrationSet of namespace fleet is named "stge": did you mean "stage"?`}},
		"All":     {"no right to read all members", setOf("", settled), "", []string{"-A"}, exitMisuse, []string{"you may not read every namespace: name one with -n"}},
		"Words":   {"one set at a time", "", "", []string{"a", "b"}, exitMisuse, []string{`unexpected argument "b"`}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", append(append([]string{"fleet", "status"}, tc.args...), fleetOf(t, tc.sets, tc.members)...)...)
			assert.Equal(t, tc.code, code, errs)
			for _, part := range tc.parts {
				if absent, not := strings.CutPrefix(part, "not "); not {
					assert.NotContains(t, out+errs, absent, tc.why)
				} else {
					assert.Contains(t, out+errs, part, tc.why)
				}
			}
		})
	}
	_, out, _ := call("", append([]string{"fleet", "status", "-o", "json"}, fleetOf(t, setOf("", removal+readyNow), dns)...)...)
	var all []shownSet
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all, 1)
	assert.Equal(t, int32(2), all[0].Status.Removal.Workloads)
	assert.Equal(t, "kubectl annotate integrationset stage -n fleet --overwrite orcon.tengu.io/confirm=abcd", all[0].Confirm)
	assert.Equal(t, "/integrations/dns.yml:5", all[0].Members[0].Declared)
}
