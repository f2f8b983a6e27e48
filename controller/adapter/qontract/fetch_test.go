package qontract_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/qontract"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// published returns the part of the published schema that matters here.
func published() map[string]map[string]string {
	amounts := map[string]string{"cpu": "string!", "memory": "string!"}
	override := map[string]string{"imageRef": "string", "disabled": "boolean", "resources": "DeployResources_v1"}
	with := func(fields map[string]string, more ...string) map[string]string {
		all := maps.Clone(fields)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	return map[string]map[string]string{
		"Query": {
			"integrations_v1": "[Integration_v1]", "awsaccounts_v1": "[AWSAccount_v1]", "clusters_v1": "[Cluster_v1]",
			"ocm_instances_v1": "[OpenShiftClusterManager_v1]", "users_v1": "[User_v1]",
		},
		"Integration_v1": {
			"schema": "string!", "path": "string!", "name": "string!", "description": "string!", "upstream": "string", "labels": "json",
			"schemas": "[string!]", "pr_check": "PrCheck_v1", "managed": "[IntegrationManaged_v1]",
		},
		"IntegrationManaged_v1": {"namespace": "Namespace_v1!", "spec": "IntegrationSpec_v1!", "sharding": "IntegrationSharding_v1"},
		"Namespace_v1":          {"path": "string!", "name": "string!", "cluster": "Cluster_v1!", "environment": "Environment_v1!", "app": "App_v1"},
		"Cluster_v1":            {"path": "string!", "name": "string!", "serverUrl": "string!", "automationToken": "VaultSecret_v1", "disable": "Disable_v1"},
		"Environment_v1":        {"name": "string!", "parameters": "json"},
		"Disable_v1":            {"integrations": "[string]", "e2eTests": "[string]"},
		"IntegrationSpec_v1": {
			"resources": "DeployResources_v1!", "fluentdResources": "DeployResources_v1", "extraEnv": "[IntegrationSpecExtraEnv_v1]",
			"logs": "IntegrationSpecLogs_v1", "cache": "boolean", "cron": "string", "failedJobHistoryLimit": "int", "storage": "string",
		},
		"IntegrationSpecExtraEnv_v1":           {"secretName": "string", "secretKey": "string", "name": "string", "value": "string"},
		"IntegrationSpecLogs_v1":               {"slack": "boolean", "googleChat": "boolean"},
		"DeployResources_v1":                   {"requests": "Amounts_v1!", "limits": "Amounts_v1!"},
		"Amounts_v1":                           amounts,
		"IntegrationSharding_v1":               {"strategy": "string!"},
		"StaticSharding_v1":                    {"strategy": "string!", "shards": "int!"},
		"AWSAccountSharding_v1":                {"strategy": "string!", "shardSpecOverrides": "[AWSAccountShardSpecOverride_v1!]"},
		"AWSAccountShardSpecOverride_v1":       with(override, "shard", "AWSAccount_v1!"),
		"OpenshiftClusterSharding_v1":          {"strategy": "string!", "shardSpecOverrides": "[OpenshiftClusterShardSpecOverride_v1!]"},
		"OpenshiftClusterShardSpecOverride_v1": with(override, "shard", "Cluster_v1!", "subSharding", "SubSharding_v1"),
		"SubSharding_v1":                       {"strategy": "string!"},
		"StaticSubSharding_v1":                 {"strategy": "string!", "shards": "int!"},
		"OCMOrganizationSharding_v1":           {"strategy": "string!", "shardSpecOverrides": "[OCMOrganizationShardSpecOverride_v1!]"},
		"OCMOrganizationShardSpecOverride_v1":  with(override, "shard", "OpenShiftClusterManager_v1!"),
		"AWSAccount_v1":                        {"path": "string!", "name": "string!", "automationToken": "VaultSecret_v1!", "disable": "Disable_v1"},
		"OpenShiftClusterManager_v1":           {"path": "string!", "name": "string!", "orgId": "string!"},
	}
}

// stage is a namespace of the data below.
const stage = `{"path": "/ns/stage.yml", "name": "tools", "app": {}, "environment": {"name": "stage", "parameters": {"LOG": true}},
	"cluster": {"name": "one", "serverUrl": "https://one", "automationToken": {"path": "vault/secret", "field": "token"}}}`

// estate returns the data of a server.
func estate() map[string]string {
	resources := `{"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Mi"}}`
	entry := func(more string) string {
		return `{"namespace": ` + stage + `, "spec": {"resources": ` + resources + `}` + more + `}`
	}
	return map[string]string{
		"integrations_v1": `[
			{"path": "/int/a.yml", "schema": "/app-sre/integration-1.yml", "name": "a", "description": "<&", "labels": {"team": "t"},
			 "managed": [{"namespace": ` + stage + `, "spec": {"resources": ` + resources + `, "failedJobHistoryLimit": 0,
			   "extraEnv": [{"name": "N", "value": "v"}], "logs": {"slack": false}},
			   "sharding": {"kind": "StaticSharding_v1", "strategy": "static", "shards": 3}}]},
			{"path": "/int/b.yml", "name": "b", "description": "", "upstream": "https://up", "managed": [` + entry(`, "sharding": {
			  "kind": "OpenshiftClusterSharding_v1", "strategy": "per-openshift-cluster", "shardSpecOverrides": [
			    {"shard": {"name": "one"}, "disabled": true, "subSharding": {"kind": "StaticSubSharding_v1", "strategy": "static", "shards": 2}}]}`) + `]},
			{"path": "/int/c.yml", "name": "c", "description": "", "managed": [` + entry("") + `]},
			{"path": "/int/d.yml", "name": "d", "description": ""}]`,
		"awsaccounts_v1":   `[{"path": "/aws/x.yml", "name": "x", "automationToken": {"path": "p"}, "disable": {"integrations": ["c"]}}]`,
		"clusters_v1":      `[{"path": "/clusters/one.yml", "name": "one", "serverUrl": "https://one", "automationToken": {"path": "p"}}]`,
		"ocm_instances_v1": `[{"path": "/ocm/o.yml", "name": "o", "orgId": "1A"}]`,
	}
}

func client() qontract.Client {
	return qontract.Client{Client: web.Client{Silence: 5 * time.Second, Pause: time.Millisecond}}
}

// held lists what is wrong with integrations.
func held(d data.Data) (all []string) {
	for _, i := range d.Integrations {
		for _, p := range i.Held {
			all = append(all, p.String())
		}
	}
	return all
}

// A server's data mean what a repository's do, from one commit (FLEET.md D5).
func TestFetch(t *testing.T) {
	s := &server{t: t, types: published(), lists: estate()}
	tree, digest, err := client().Fetch(t.Context(), s.start())
	require.NoError(t, err)
	assert.Equal(t, "sha256:"+sha, digest)
	assert.Equal(t, []string{"aws/x.yml", "clusters/one.yml", "int/a.yml", "int/b.yml", "int/c.yml", "int/d.yml", "ocm/o.yml"}, tree.Paths())
	for name, content := range tree.Contents() {
		assert.NotContains(t, string(content), "null", name)
		assert.NotContains(t, string(content), "vault", name)
	}
	assert.NotContains(t, strings.Join(s.queries, ""), "automationToken", "tokens are never asked for")
	assert.Len(t, s.queries, 5)

	d := data.Read(tree.Contents(), data.Options{})
	require.Empty(t, held(d))
	require.Len(t, d.Integrations, 4)
	a, b := d.Integrations[0], d.Integrations[1]
	assert.Equal(t, data.Location{File: "/int/a.yml"}, a.Location)
	assert.Equal(t, "<&", a.Description)
	assert.Equal(t, map[string]string{"team": "t"}, a.Labels)
	e := a.Entries[0]
	assert.Equal(t, data.Namespace{
		Path: "/ns/stage.yml", Name: "tools", Cluster: data.Cluster{Name: "one", ServerURL: "https://one"},
		Environment: data.Environment{Name: "stage", Parameters: map[string]any{"LOG": true}},
	}, e.Namespace)
	assert.Equal(t, 3, e.Sharding.Shards)
	assert.Equal(t, 0, *e.Spec.FailedJobHistoryLimit, "0 is not absent")
	assert.Nil(t, e.Spec.Cache, "null is absent")
	assert.Equal(t, "v", *e.Spec.ExtraEnv[0].Value)
	assert.False(t, *e.Spec.Logs.Slack)
	require.Len(t, b.Entries[0].Sharding.Overrides, 1)
	assert.Equal(t, 2, b.Entries[0].Sharding.Overrides[0].SubShards)
	assert.True(t, *b.Entries[0].Sharding.Overrides[0].Disabled)
	assert.Equal(t, "https://up", b.Upstream)
	assert.Equal(t, data.Static, d.Integrations[2].Entries[0].Sharding.Strategy)
	assert.Equal(t, []string{"c"}, d.Objects[data.PerAccount].All[0].Disable.Integrations)
	assert.Equal(t, "1A", d.Objects[data.PerOrganisation].All[0].OrgID)
}

// Servers of other years have other fields. One that the data do not know is refused, and not left out.
func TestSchemas(t *testing.T) {
	tests := map[string]struct {
		change func(s *server)
		held   string
	}{
		"Older": {func(s *server) {
			for _, kind := range []string{"OCMOrganizationSharding_v1", "OCMOrganizationShardSpecOverride_v1", "StaticSubSharding_v1"} {
				delete(s.types, kind)
			}
			delete(s.types["IntegrationSpec_v1"], "fluentdResources")
			delete(s.types["OpenshiftClusterShardSpecOverride_v1"], "subSharding")
			delete(s.types["AWSAccount_v1"], "disable")
			delete(s.types["Integration_v1"], "upstream")
		}, ""},
		"ShardsInside": {func(s *server) {
			delete(s.types["IntegrationManaged_v1"], "sharding")
			s.types["IntegrationSpec_v1"]["shards"], s.types["IntegrationSpec_v1"]["shardingStrategy"] = "int", "string"
		}, ""},
		"UnknownEmpty": {func(s *server) { s.types["IntegrationSpec_v1"]["novel"] = "string" }, ""},
		"Unknown": {func(s *server) {
			s.types["IntegrationSpec_v1"]["novel"] = "string"
			s.lists["integrations_v1"] = strings.Replace(s.lists["integrations_v1"], `"extraEnv"`, `"novel": "x", "extraEnv"`, 1)
		}, `/int/a.yml#/managed/0/spec/novel: unknown field "novel"`},
		"UnknownObject": {func(s *server) {
			s.types["IntegrationSpec_v1"]["novel"] = "[Novel_v1]"
			s.lists["integrations_v1"] = strings.Replace(s.lists["integrations_v1"], `"extraEnv"`, `"novel": [{"a": 1}], "extraEnv"`, 1)
		}, `/int/a.yml#/managed/0/spec/novel: unknown field "novel"`},
		"UnknownSharding": {func(s *server) {
			s.lists["integrations_v1"] = strings.Replace(s.lists["integrations_v1"], `"kind": "StaticSharding_v1", "strategy": "static"`, `"kind": "Zone_v1", "strategy": "per-zone"`, 1)
		}, `sharding strategy "per-zone" is not supported`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &server{t: t, types: published(), lists: estate()}
			test.change(s)
			tree, _, err := client().Fetch(t.Context(), s.start())
			require.NoError(t, err)
			d := data.Read(tree.Contents(), data.Options{})
			require.Len(t, d.Integrations, 4)
			if test.held == "" {
				assert.Empty(t, held(d))
				return
			}
			assert.Contains(t, strings.Join(held(d), "\n"), test.held)
			assert.Empty(t, d.Integrations[2].Held, "others go on")
		})
	}
}

// Data that are gone between two queries are begun again, a few times (FLEET.md D5).
func TestDropped(t *testing.T) {
	next := strings.Repeat("1", 64)
	for why, test := range map[string]struct {
		status, times int
		want          string
	}{
		"another commit":     {http.StatusNotFound, 1, ""},
		"a conflict":         {http.StatusConflict, 3, ""},
		"always another one": {http.StatusNotFound, 100, "the server dropped its data while they were read, 4 times: try again later, or check that it is a server of Qontract"},
	} {
		s := &server{t: t, types: published(), lists: estate()}
		dropped := 0
		s.wrong = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if dropped == test.times || r.Method == http.MethodGet || len(s.queries) < 2 {
				return false
			}
			dropped++
			s.sha, s.queries = next, nil
			w.WriteHeader(test.status)
			return true
		}
		_, digest, err := client().Fetch(t.Context(), s.start())
		if test.want != "" {
			require.ErrorContains(t, err, test.want, why)
			assert.Equal(t, 4, dropped, why)
			continue
		}
		require.NoError(t, err, why)
		assert.Equal(t, test.times, dropped, why)
		assert.Equal(t, "sha256:"+next, digest, why)
		assert.Len(t, s.queries, 5, "all queries are of one commit: %s", why)
	}
}

// An answer that is not complete is an error of the whole fetch, which quotes nothing of it (FLEET.md D5, TRUST.md R4).
func TestWrongAnswers(t *testing.T) {
	send := func(status int, text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	tests := map[string]struct {
		// at is the number of the request that has the wrong answer; later ones have it too.
		at     int
		answer func(w http.ResponseWriter)
		want   string
	}{
		"PageForSum":    {1, send(200, "<!DOCTYPE html><p>confidential"), "cannot ask which data the server has, at"},
		"NoSum":         {1, send(200, `{"confidential": 1}`), "it is not a checksum: check the address"},
		"ShortSum":      {1, send(200, sha[1:]), "it is not a checksum"},
		"SumBroken":     {1, send(500, "confidential"), "the server answered 500"},
		"SumMissing":    {1, send(404, "confidential"), "the server has nothing at this address: it answered 404"},
		"SumDenied":     {1, send(401, "confidential"), "use credentials that can read it"},
		"Page":          {2, send(200, "<!DOCTYPE html><p>confidential"), "cannot ask for its schema: not tried again: the answer is a web page, not data"},
		"Broken":        {3, send(500, "confidential"), "cannot ask for integrations_v1: the server answered 500"},
		"Denied":        {3, send(403, "confidential"), "use credentials"},
		"BadRequest":    {3, send(400, `{"errors": [{"message": "confidential"}]}`), "the server answered 400"},
		"Half":          {3, send(200, `{"data": {"integrations_v1": [{"path": "confidential`), "cannot use the answer for integrations_v1: it is not the JSON of a GraphQL server"},
		"Twice":         {3, send(200, `{"data": {}}{"data": {}}`), "it is not the JSON"},
		"List":          {3, send(200, `[]`), "it is not the JSON"},
		"Errors":        {3, send(200, `{"errors": [{"message": "confidential"}, {}], "data": {"integrations_v1": []}}`), "the server reports 2 errors: see its log"},
		"NoData":        {3, send(200, `{}`), "its data are of another form"},
		"NullData":      {3, send(200, `{"data": null}`), "it has no list"},
		"OtherData":     {3, send(200, `{"data": {"integrations_v1": {}}}`), "its data are of another form"},
		"NullList":      {3, send(200, `{"data": {"integrations_v1": null}}`), "cannot use the answer for integrations_v1: it has no list"},
		"NoList":        {3, send(200, `{"data": {"other": []}}`), "it has no list"},
		"NullObject":    {3, send(200, `{"data": {"integrations_v1": [null]}}`), "cannot use object 0 of integrations_v1: it has no path"},
		"NoPath":        {3, send(200, `{"data": {"integrations_v1": [{"name": "confidential"}]}}`), "it has no path"},
		"RelativePath":  {3, send(200, `{"data": {"integrations_v1": [{"path": "a.yml"}]}}`), "it has no path that begins with a slash"},
		"UpwardPath":    {3, send(200, `{"data": {"integrations_v1": [{"path": "/../a.yml"}]}}`), `cannot use path "../a.yml"`},
		"TwoOfOnePath":  {3, send(200, `{"data": {"integrations_v1": [{"path": "/a.yml"}, {"path": "/a.yml"}]}}`), `cannot use path "a.yml" twice`},
		"NotQontract":   {2, send(200, `{"data": {"t0": {"fields": [{"name": "users", "type": {"kind": "OBJECT"}}]}}}`), "its schema has no integrations_v1"},
		"NoAccounts":    {2, send(200, `{"data": {"t0": {"fields": [{"name": "integrations_v1", "type": {"kind": "OBJECT"}}]}}}`), "its schema has no awsaccounts_v1"},
		"ClustersWrong": {5, send(200, `{"data": {}}`), "cannot use the answer for clusters_v1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &server{t: t, types: published(), lists: estate()}
			s.wrong = func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n >= test.at {
					test.answer(w)
				}
				return n >= test.at
			}
			tree, _, err := client().Fetch(t.Context(), s.start())
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "confidential")
			assert.Equal(t, bundle.Tree{}, tree)
		})
	}
}

// A server that breaks off is asked again, from the beginning of the answer.
func TestBreaksOff(t *testing.T) {
	s := &server{t: t, types: published(), lists: estate()}
	s.wrong = func(w http.ResponseWriter, r *http.Request, n int) bool {
		assert.Empty(t, r.Header.Get("Range"))
		if n != 3 {
			return false
		}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"data": {`)
		panic(http.ErrAbortHandler)
	}
	tree, _, err := client().Fetch(t.Context(), s.start())
	require.NoError(t, err)
	assert.Len(t, tree.Paths(), 7)
}

// Credentials open the server.
func TestCredentials(t *testing.T) {
	s := &server{t: t, types: published(), lists: estate()}
	s.wrong = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		user, password, _ := r.BasicAuth()
		if user == "me" && password == "secret" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	c, address := client(), s.start()
	_, _, err := c.Fetch(t.Context(), address)
	require.ErrorContains(t, err, "401")
	c.Credentials = bundle.Credentials{Username: "me", Password: "secret"}
	_, _, err = c.Fetch(t.Context(), address)
	require.NoError(t, err)
}
