package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const deploymentYAML = `# The shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  # who it is
  name: web   # its name

spec:
    replicas: 2
    template:
        metadata: {labels: {app: web}}
        spec:
            containers:
            - {name: web, image: "web:v1"}
---
# untouched
apiVersion: v1
kind: ConfigMap
metadata: {name:   odd, annotations: {a: b}}
`

// Everything but the annotations stays as it is, in every form of YAML.
func TestAdd(t *testing.T) {
	const pod = "kind: Pod\nmetadata:\n"
	tests := map[string]struct {
		why, in  string
		args     []string
		old, new string
	}{
		"New": {
			"comments, order and other documents stay", deploymentYAML, []string{"consumer", "--interface", "redis", "--to", "cache"},
			"  # who it is\n  name: web", "  # who it is\n  annotations:\n    tengu.io/consumes: \"redis\"\n    tengu.io/relations: \"redis=cache\"\n  name: web",
		},
		"Appended": {
			"a list gets another entry", pod + "  annotations:\n    tengu.io/consumes: http # pages\n    other: x\n", []string{"consumer", "--interface", "redis"},
			"tengu.io/consumes: http # pages", "tengu.io/consumes: \"http,redis\" # pages",
		},
		"Quoted": {"a quoted one too", pod + "  annotations: {tengu.io/consumes: 'http', other: x}\n", []string{"consumer", "--interface", "redis"}, "'http'", `"http,redis"`},
		"Flow":   {"a mapping in braces", "kind: Pod\nmetadata: {name: web}\n", []string{"consumer", "--interface", "redis"}, "{name: web}", `{"annotations": {"tengu.io/consumes": "redis"}, name: web}`},
		"Braces": {"annotations in braces", "kind: Pod\nmetadata: {annotations: {}}\n", []string{"consumer", "--interface", "redis"}, "{}", `{"tengu.io/consumes": "redis"}`},
		"JSON":   {"JSON stays JSON", `{"kind": "Pod", "metadata": {"name": "web"}}` + "\n", []string{"consumer", "--interface", "redis"}, `{"name"`, `{"annotations": {"tengu.io/consumes": "redis"}, "name"`},
		"Letters": {
			"letters of other languages before", pod + "  annotations: {owner: \"Zoë\", tengu.io/consumes: http}\n",
			[]string{"consumer", "--interface", "redis"}, "consumes: http", `consumes: "http,redis"`,
		},
		"LettersBraces": {
			"before braces", `{"kind": "Pod", "spec": {"hostname": "zoë"}, "metadata": {"name": "web"}}` + "\n",
			[]string{"consumer", "--interface", "redis"}, `{"name"`, `{"annotations": {"tengu.io/consumes": "redis"}, "name"`,
		},
		"Empty":     {"annotations without entries", pod + "  name: web\n  annotations: # none yet\n  labels: {}\n", []string{"consumer", "--interface", "redis"}, "yet\n", "yet\n    tengu.io/consumes: \"redis\"\n"},
		"LastEmpty": {"at the end of the file", pod + "  name: web\n  annotations:", []string{"consumer", "--interface", "redis"}, "annotations:", "annotations:\n    tengu.io/consumes: \"redis\"\n"},
		"Both": {
			"each entry where it has an effect: the template's annotation wins", "kind: Deployment\nmetadata:\n  annotations:\n    tengu.io/relations: db\nspec:\n  template:\n    metadata:\n      annotations:\n        tengu.io/consumes: db\n",
			[]string{"consumer", "--interface", "redis", "--to", "cache"}, "relations: db\nspec:\n  template:\n    metadata:\n      annotations:\n        tengu.io/consumes: db\n",
			"relations: \"db,redis=cache\"\nspec:\n  template:\n    metadata:\n      annotations:\n        tengu.io/consumes: \"db,redis\"\n",
		},
		"CronJob": {
			"the template of a CronJob", "kind: CronJob\nmetadata: {name: web}\nspec:\n  jobTemplate:\n    spec:\n      template:\n        metadata:\n          annotations:\n            tengu.io/consumes: http\n",
			[]string{"consumer", "--interface", "redis"}, "consumes: http", `consumes: "http,redis"`,
		},
		"Copied": {
			"an annotation that the webhook copied to the template is not the author's",
			"kind: Deployment\nmetadata:\n  annotations:\n    tengu.io/consumes: http\nspec:\n  template:\n    metadata:\n      annotations:\n        injector.tengu.io/copied: tengu.io/consumes\n        tengu.io/consumes: 'http'\n",
			[]string{"consumer", "--interface", "redis"}, "consumes: http\n", "consumes: \"http,redis\"\n",
		},
		"Marks":   {"optional, limited, of a version", pod + "  name: web\n", []string{"consumer", "--endpoint", "cache", "--interface", "redis@1", "--optional", "--limit", "2"}, "  name", "  annotations:\n    tengu.io/consumes: \"cache:redis@1?!2\"\n  name"},
		"Windows": {"line ends stay", "kind: Pod\r\nmetadata:\r\n  name: web\r\n", []string{"consumer", "--interface", "redis"}, "  name", "  annotations:\r\n    tengu.io/consumes: \"redis\"\r\n  name"},
		"List":    {"an item of a list", "kind: List\nitems:\n- kind: Pod\n  metadata:\n    name: web\n", []string{"consumer", "--interface", "redis"}, "    name", "    annotations:\n      tengu.io/consumes: \"redis\"\n    name"},
		"Service": {"the Service rather than its workload", "kind: StatefulSet\nmetadata:\n  name: db\n---\nkind: Service\nmetadata:\n  name: db\n", []string{"provider", "--endpoint", "main", "--interface", "redis"}, "Service\nmetadata:\n", "Service\nmetadata:\n  annotations:\n    tengu.io/provides: \"main:redis\"\n"},
		"Named":   {"the one that is named", "kind: Pod\nmetadata:\n  name: a\n---\nkind: Pod\nmetadata:\n  name: b\n", []string{"consumer", "--interface", "redis", "--object", "pod/b"}, "  name: b", "  annotations:\n    tengu.io/consumes: \"redis\"\n  name: b"},
		"Template": {
			"the pod template, where it declares already", "kind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    metadata:\n      annotations:\n        tengu.io/consumes: http\n",
			[]string{"consumer", "--interface", "redis"}, "consumes: http", `consumes: "http,redis"`,
		},
		"Twice": {"what is there already", pod + "  annotations:\n    tengu.io/consumes: redis\n", []string{"consumer", "--interface", "redis"}, "", ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			want := tc.in
			if tc.old != "" {
				require.Equal(t, 1, strings.Count(tc.in, tc.old))
				want = strings.Replace(tc.in, tc.old, tc.new, 1)
			}
			code, out, errs := call(tc.in, append([]string{"add", tc.args[0], "-"}, tc.args[1:]...)...)
			require.Zero(t, code, errs)
			assert.Equal(t, want, out, tc.why)

			file := write(t, "a.yaml", tc.in)
			code, out, errs = call("", append([]string{"add", tc.args[0], file, "--dry-run"}, tc.args[1:]...)...)
			require.Zero(t, code, errs)
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, tc.in, string(after), "a dry run writes nothing")
			assert.Equal(t, tc.old != "", strings.Contains(out, "\n+"), out)
			code, _, errs = call("", append([]string{"add", tc.args[0], file}, tc.args[1:]...)...)
			require.Zero(t, code, errs)
			after, err = os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, want, string(after))
		})
	}
}

// What is not valid is not written.
func TestAddRefuses(t *testing.T) {
	tests := map[string]struct {
		why, in string
		args    []string
		errs    string
	}{
		"Nothing":   {"nothing to add", "kind: Pod\nmetadata: {}\n", []string{"consumer"}, "--interface is missing (orcon interfaces lists them)"},
		"Unread":    {"no YAML", "a: [", []string{"consumer", "--interface", "redis"}, "cannot read the manifest"},
		"NoObject":  {"nothing that could consume", "kind: ConfigMap\nmetadata: {name: a}\n", []string{"consumer", "--interface", "redis"}, "has no workload"},
		"Several":   {"which one", "kind: Pod\nmetadata: {name: a}\n---\nkind: Pod\nmetadata: {name: b}\n", []string{"consumer", "--interface", "redis"}, "use --object with one of Pod/a, Pod/b"},
		"NoSuch":    {"not there", "kind: Pod\nmetadata: {name: a}\n", []string{"consumer", "--interface", "redis", "--object", "Pod/b"}, "cannot find object Pod/b in -: use --object with one of Pod/a"},
		"Endpoint":  {"a name that is none", "kind: Pod\nmetadata: {name: a}\n", []string{"consumer", "--endpoint", "Cache", "--interface", "redis"}, "Cache"},
		"Conflict":  {"another endpoint of the name", "kind: Pod\nmetadata: {name: a, annotations: {tengu.io/consumes: 'cache:http'}}\n", []string{"consumer", "--endpoint", "cache", "--interface", "redis"}, "has the entry cache:http already"},
		"Reference": {"a provider that is none", "kind: Pod\nmetadata: {name: a}\n", []string{"consumer", "--interface", "redis", "--to", "A B"}, "tengu.io/relations"},
		"Colon":     {"an entry without a name", "kind: Pod\nmetadata: {name: a, annotations: {tengu.io/consumes: ':'}}\n", []string{"consumer", "--interface", "redis"}, "tengu.io/consumes"},
		"Equals":    {"a provider without a name", "kind: Pod\nmetadata: {name: a, annotations: {tengu.io/relations: db}}\n", []string{"consumer", "--interface", "redis", "--to", "="}, "tengu.io/relations"},
		"Label":     {"a label and an annotation", "kind: Service\nmetadata: {name: a, labels: {tengu.io/provides: sse}}\n", []string{"provider", "--interface", "redis"}, "it is both a label and an annotation"},
		"Folded":    {"a form that is not edited", "kind: Pod\nmetadata:\n  annotations:\n    tengu.io/consumes: >-\n      http\n", []string{"consumer", "--interface", "redis"}, "write each annotation on a line of its own"},
		"Alias":     {"annotations that are shared", "kind: Pod\nmetadata:\n  name: a\n  labels: &a {x: y}\n  annotations: *a\n", []string{"consumer", "--interface", "redis"}, "write each annotation on a line of its own"},
		"Negative":  {"a limit that is none", "kind: Pod\nmetadata: {name: a}\n", []string{"consumer", "--interface", "redis", "--limit", "-1"}, "--limit is -1: use 1 or more"},
		"Unknown":   {"a word that is no kind of side", "", []string{"consumr"}, `unknown command "consumr" (did you mean consumer?)`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call(tc.in, append([]string{"add", tc.args[0], "-"}, tc.args[1:]...)...)
			assert.Equal(t, exitMisuse, code, tc.why)
			assert.Empty(t, out)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
	const named = "kind: Pod\nmetadata: {name: a, annotations: {tengu.io/consumes: http, tengu.io/relations: '%s'}}\n"
	for relations, want := range map[string]string{
		"http=site": "note: no provider is named for endpoint redis: run", "site": "note: no provider is named for endpoint redis, unless it is site: run",
	} {
		_, _, errs := call(fmt.Sprintf(named, relations), "add", "consumer", "-", "--interface", "redis")
		assert.Contains(t, errs, want)
	}
	_, _, errs := call(fmt.Sprintf(named, "site,redis=cache"), "add", "consumer", "-", "--interface", "redis")
	assert.Empty(t, errs, "the endpoint has its provider")
	_, _, errs = call("kind: Pod\nmetadata: {name: a}\n", "add", "consumer", "-", "--interface", "reddis")
	assert.Contains(t, errs, "note: interface reddis is not built in: did you mean redis?")
	_, _, errs = call("kind: Pod\nmetadata: {name: a}\n", "add", "consumer", "-", "--interface", "postgresql")
	assert.Contains(t, errs, "did you mean postgresql_client?")
}

// A second endpoint of one interface makes the choice ambiguous for consumers: it is added by name only.
func TestAddProviderTwice(t *testing.T) {
	service := "kind: Service\nmetadata:\n  annotations:\n    tengu.io/provides: api:http\n"
	file := write(t, "a.yaml", service)
	code, _, errs := call("", "add", "provider", file, "--interface", "http")
	require.Zero(t, code)
	assert.Contains(t, errs, "provides http already, as api:http: to add another, name it by --endpoint")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, service, string(text))
	_, out, _ := call(service, "add", "provider", "-", "--interface", "http")
	assert.Equal(t, service, out, "a pipe gets the manifest as it was")
	_, out, _ = call(service, "add", "provider", "-", "--interface", "http", "--endpoint", "admin")
	assert.Contains(t, out, `"api:http,admin:http"`)
}

// Interfaces are listed and shown without a cluster, and with those of one.
func TestInterfaces(t *testing.T) {
	t.Setenv("KUBECONFIG", write(t, "none", ""))
	code, out, errs := call("", "interfaces")
	require.Zero(t, code)
	assert.Contains(t, out, "postgresql_client ")
	assert.Contains(t, errs, "note: only the built-in interfaces are shown: cannot find a cluster")

	code, out, errs = call("", "interfaces", "--context", "typo", "-o", "json")
	assert.Equal(t, exitMisuse, code, "the built-in ones are not those of the cluster that was asked for")
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot find")
	_, _, errs = call("", "interfaces", "mine", "-q")
	assert.Contains(t, errs, "cannot find interface mine (orcon interfaces lists them); only the built-in interfaces are shown: cannot find a cluster")

	code, out, _ = call("", "interfaces", "postgresql_client")
	require.Zero(t, code)
	assert.Contains(t, out, "Data of the provider\nFIELD                 REQUIRED   SECRET   DESCRIPTION\ndatabase              yes                 Name of the database")
	assert.Contains(t, out, "password              yes        yes      Secret with the key password")
	assert.Contains(t, out, "tengu.io/provides: main:postgresql_client")
	assert.Contains(t, out, "port: \"5432\"\n")
	_, out, _ = call("", "interfaces", "http@1", "-o", "json")
	assert.Contains(t, out, `"provider/`)

	code, _, errs = call("", "interfaces", "http@9")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot find interface http@9: the versions of http are 1")
	code, _, errs = call("", "interfaces", "reddis")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot find interface reddis: did you mean redis? (orcon interfaces lists them)")

	text, err := os.ReadFile("../../deployment/examples/interface.yaml")
	require.NoError(t, err)
	own, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	server := answering(t, map[string]string{group + "interfaces": listOf("Interface", string(own))})
	code, out, errs = call("", append([]string{"interfaces"}, server...)...)
	require.Zero(t, code, errs)
	assert.Regexp(t, `(?m)^feature[_-]flags +1 +cluster +\S`, out)
}

// Interfaces belong to the cluster, so that a user with rights in one namespace may not list them: the built-in ones are
// shown, and what permits the others.
func TestInterfacesOfOneNamespace(t *testing.T) {
	server := answering(t, map[string]string{group + "interfaces": "", "/apis/authentication.k8s.io/v1": selfReview,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": whoIsLow, "/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[
			{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}]},
			{"name":"authentication.k8s.io","versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"}]}]}`})
	const cure = "you may not list the interfaces of the cluster: "
	const commands = "An administrator of the cluster permits that by\n" +
		"kubectl create clusterrole orcon-interfaces --verb=get,list --resource=interfaces.orcon.tengu.io --dry-run=client -o yaml | kubectl apply -f -\n" +
		"kubectl create clusterrolebinding orcon-interfaces-low --clusterrole=orcon-interfaces --user=low --dry-run=client -o yaml | kubectl apply -f -\n"
	code, out, errs := call("", append([]string{"interfaces", "-q"}, server...)...)
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "postgresql_client ")
	assert.Contains(t, errs, "note: only the built-in interfaces are shown: "+cure)
	assert.Contains(t, errs, commands)

	code, out, errs = call("", append([]string{"interfaces", "redis"}, server...)...)
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "redis version 1")
	assert.Contains(t, errs, "note: only the built-in interfaces are shown, so that the cluster may have a newer version: "+cure)

	code, _, errs = call("", append([]string{"interfaces", "mine"}, server...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot find interface mine (orcon interfaces lists them); only the built-in interfaces are shown: "+cure)
	assert.Contains(t, errs, commands)
}
