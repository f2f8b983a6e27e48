package bundle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// fields reads a part of an object from YAML.
func fields(t require.TestingT, text string) map[string]any {
	var o map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &o))
	return o
}

// pods is a Deployment whose pods are so.
func pods(t require.TestingT, spec string) bundle.Object {
	return object("Deployment web", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": fields(t, spec)}}})
}

// Whatever of a pod reads configuration is told, and nothing that is optional.
func TestReadings(t *testing.T) {
	tests := map[string]struct {
		why, spec string
		// want are "Kind name key: field".
		want []string
	}{
		"Env": {
			why: "each key of its own", spec: `{containers: [{name: a, env: [{name: X, value: x}, {name: C, valueFrom: {configMapKeyRef: {name: c, key: k}}}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}`,
			want: []string{`ConfigMap c k: spec.template.spec.containers[name="a"].env[name="C"]`, `Secret s k: spec.template.spec.containers[name="a"].env[name="S"]`},
		},
		"EnvFrom": {
			why: "all that is there", spec: `{initContainers: [{name: a, envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s}}]}]}`,
			want: []string{`ConfigMap c : spec.template.spec.initContainers[name="a"].envFrom`, `Secret s : spec.template.spec.initContainers[name="a"].envFrom`},
		},
		"Volumes": {
			why: "files, all or some", spec: `{volumes: [{name: v, configMap: {name: c}}, {name: w, secret: {secretName: s, items: [{key: a, path: x}, {key: b, path: y}]}}, {name: x, emptyDir: {}}]}`,
			want: []string{`ConfigMap c : spec.template.spec.volumes[name="v"]`, `Secret s a: spec.template.spec.volumes[name="w"]`, `Secret s b: spec.template.spec.volumes[name="w"]`},
		},
		"Projected": {
			why: "files of several", spec: `{volumes: [{name: v, projected: {sources: [{configMap: {name: c, items: [{key: k, path: k}]}}, {secret: {name: s}}, {downwardAPI: {}}]}}]}`,
			want: []string{`ConfigMap c k: spec.template.spec.volumes[name="v"].projected`, `Secret s : spec.template.spec.volumes[name="v"].projected`},
		},
		"Pull":     {why: "who pulls the image", spec: `{imagePullSecrets: [{name: s}]}`, want: []string{`Secret s : spec.template.spec.imagePullSecrets`}},
		"Account":  {why: "no pod is made without it", spec: `{serviceAccountName: web}`, want: []string{`ServiceAccount web : spec.template.spec.serviceAccountName`}},
		"Optional": {why: "its author can do without", spec: `{containers: [{name: a, env: [{name: C, valueFrom: {configMapKeyRef: {name: c, key: k, optional: true}}}], envFrom: [{secretRef: {name: s, optional: true}}]}], volumes: [{name: v, secret: {secretName: s, optional: true, items: [{key: k}]}}]}`},
		"Odd":      {why: "the API server refuses it in better words", spec: `{containers: 3, volumes: [7, {name: v, secret: x}], imagePullSecrets: [{}]}`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var got []string
			for _, n := range order(t, pods(t, tc.spec)).Readings() {
				assert.Equal(t, id("Deployment web"), n.Workload)
				assert.Equal(t, "shop", n.ID.Namespace)
				got = append(got, fmt.Sprintf("%s %s %s: %s", n.ID.Kind, n.ID.Name, n.Key, n.Field))
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// Jobs, CronJobs and bare pods have pods too; what has none reads nothing.
func TestReadingsOfEachKind(t *testing.T) {
	pod := fields(t, `{imagePullSecrets: [{name: s}]}`)
	template := map[string]any{"template": map[string]any{"spec": pod}}
	cron := object("CronJob tick", map[string]any{"apiVersion": "batch/v1", "spec": map[string]any{"jobTemplate": map[string]any{"spec": template}}})
	for _, o := range []bundle.Object{
		cron, object("Pod one", map[string]any{"spec": pod}), object("StatefulSet one", map[string]any{"spec": template}), object("Job one", map[string]any{"spec": template}),
	} {
		readings := order(t, o).Readings()
		require.Len(t, readings, 1, o.ID())
		assert.Equal(t, o.ID(), readings[0].Workload, "a Job has its author's name")
	}
	assert.Empty(t, order(t, object("Engine one", map[string]any{"spec": template})).Readings(), "a kind that nobody knows")
}

const readsDB = `{containers: [{name: a, env: [{name: U, valueFrom: {secretKeyRef: {name: db, key: user}}}, {name: P, valueFrom: {secretKeyRef: {name: db, key: password}}}]}]}`

// All that neither the bundle nor the cluster has is told at once, with the command that
// makes it.
func TestLacks(t *testing.T) {
	db := map[string]any{"data": map[string]any{"user": "eA=="}}
	tests := map[string]struct {
		why     string
		objects []bundle.Object
		keys    map[string][]string
		live    map[bundle.ID]bundle.Live
		want    []string
	}{
		"Absent":    {why: "nobody has it", objects: []bundle.Object{pods(t, readsDB)}, want: []string{"Secret shop/db does not exist (it needs keys password, user): kubectl create secret generic db -n shop --from-literal=password=… --from-literal=user=…"}},
		"Cluster":   {why: "somebody made it", objects: []bundle.Object{pods(t, readsDB)}, keys: map[string][]string{"Secret db": {"password", "user"}}},
		"Half":      {why: "a key is missing", objects: []bundle.Object{pods(t, readsDB)}, keys: map[string][]string{"Secret db": {"user"}}, want: []string{`Secret shop/db has no key password: kubectl patch secret db -n shop --type merge -p '{"stringData":{"password":"…"}}'`}},
		"HalfMap":   {why: "a key is missing", objects: []bundle.Object{pods(t, strings.ReplaceAll(readsDB, "secretKeyRef", "configMapKeyRef"))}, keys: map[string][]string{"ConfigMap db": {"user"}}, want: []string{`ConfigMap shop/db has no key password: kubectl patch configmap db -n shop --type merge -p '{"data":{"password":"…"}}'`}},
		"Own":       {why: "the bundle forgot a key", objects: []bundle.Object{pods(t, readsDB), object("Secret db", db)}, want: []string{"Secret shop/db has no key password: add it to the bundle's own"}},
		"Both":      {why: "one key each", objects: []bundle.Object{pods(t, readsDB), object("Secret db", db)}, keys: map[string][]string{"Secret db": {"password"}}},
		"Whole":     {why: "an object without a word of its keys", objects: []bundle.Object{pods(t, `{volumes: [{name: v, configMap: {name: c}}]}`)}, want: []string{"ConfigMap shop/c does not exist: kubectl create configmap c -n shop --from-file=…"}},
		"EnvFrom":   {why: "a file of variables", objects: []bundle.Object{pods(t, `{containers: [{name: a, envFrom: [{secretRef: {name: c}}]}]}`)}, want: []string{"Secret shop/c does not exist: kubectl create secret generic c -n shop --from-env-file=…"}},
		"Pull":      {why: "another command", objects: []bundle.Object{pods(t, `{imagePullSecrets: [{name: r}]}`)}, want: []string{"Secret shop/r does not exist: kubectl create secret docker-registry r -n shop --docker-server=… --docker-username=… --docker-password=…"}},
		"Account":   {why: "no pod is made without it", objects: []bundle.Object{pods(t, `{serviceAccountName: web}`)}, want: []string{"ServiceAccount shop/web does not exist: add it to the bundle, or: kubectl create serviceaccount web -n shop"}},
		"Default":   {why: "each namespace has one", objects: []bundle.Object{pods(t, `{serviceAccountName: default}`)}},
		"Root":      {why: "each namespace has it", objects: []bundle.Object{pods(t, `{volumes: [{name: v, configMap: {name: kube-root-ca.crt, items: [{key: ca.crt}]}}]}`)}},
		"Token":     {why: "the cluster fills it", objects: []bundle.Object{pods(t, readsDB), object("Secret db", map[string]any{"type": "kubernetes.io/service-account-token"})}},
		"Certified": {why: "cert-manager makes it", objects: []bundle.Object{pods(t, readsDB), object("Certificate any", map[string]any{"apiVersion": "cert-manager.io/v1", "spec": map[string]any{"secretName": "db"}})}},
		"External":  {why: "its own name where it says none", objects: []bundle.Object{pods(t, readsDB), object("ExternalSecret db", map[string]any{"apiVersion": "external-secrets.io/v1"})}},
		"OtherName": {why: "it makes another", objects: []bundle.Object{pods(t, `{imagePullSecrets: [{name: db}]}`), object("ExternalSecret db", map[string]any{"apiVersion": "external-secrets.io/v1", "spec": map[string]any{"target": map[string]any{"name": "x"}}})}, want: []string{"Secret shop/db does not exist: kubectl create secret docker-registry db -n shop --docker-server=… --docker-username=… --docker-password=…"}},
		"Made":      {why: "its author says who makes it", objects: []bundle.Object{pods(t, readsDB), job("init", "true", "makes=Secret/db")}},
		"Unborn":    {why: "nobody can make it there yet", objects: []bundle.Object{pods(t, readsDB), object("Namespace shop")}, want: []string{"Secret shop/db does not exist (it needs keys password, user): add it to the bundle, which creates its namespace"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			keys := map[bundle.ID][]string{}
			for name, all := range tc.keys {
				keys[id(name)] = all
			}
			var got []string
			for _, l := range draft(t, tc.live, nil, tc.objects...).Lacks(keys) {
				line, _, _ := strings.Cut(l.String(), "\n")
				got = append(got, line)
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// A Job that has run reads nothing any more.
func TestLacksOfJobsThatRan(t *testing.T) {
	init := object("Job init", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": fields(t, `{imagePullSecrets: [{name: s}]}`)}}})
	assert.Len(t, draft(t, nil, nil, init).Lacks(nil), 1)
	ran := bundle.Record{}.Complete(order(t, init)[0].ID)
	assert.Empty(t, draft(t, nil, func(in *bundle.Intent) { in.Record = ran }, init).Lacks(nil))
}

// Who installs what others wrote may say what comes of it.
func TestExpecting(t *testing.T) {
	lacks := draft(t, nil, nil, pods(t, readsDB), object("Pod x", map[string]any{"spec": fields(t, `{imagePullSecrets: [{name: r}]}`)})).Lacks(nil)
	require.Len(t, lacks, 2)
	rest, err := bundle.Expecting(lacks, "Secret/db", "Secret/shop/none")
	require.NoError(t, err)
	assert.Equal(t, lacks[1:], rest)
	rest, err = bundle.Expecting(lacks, "Secret/office/db", "ConfigMap/db")
	require.NoError(t, err)
	assert.Equal(t, lacks, rest, "another of that name is another")
	_, err = bundle.Expecting(lacks, "secret/db")
	require.ErrorContains(t, err, "write ConfigMap/NAME, Secret/NAME, ServiceAccount/NAME")
	_, err = bundle.Expecting(lacks, "db")
	assert.ErrorContains(t, err, "Kind/name")
}

func TestLackError(t *testing.T) {
	lacks := draft(t, nil, nil, pods(t, readsDB), job("init", "true")).Lacks(nil)
	text := (&bundle.LackError{Lacks: lacks}).Error()
	assert.Contains(t, text, `needed by Deployment shop/web: spec.template.spec.containers[name="a"].env[name="P"]`)
	assert.Contains(t, text, `.env[name="U"]`)
}

// Whatever workloads read and whatever is there: with all that is told as missing nothing is
// missing any more, and with less something is; nothing that is there is told.
func TestLacksAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var containers []string
		for i := range rapid.IntRange(0, 6).Draw(t, "containers") {
			kind := rapid.SampledFrom([]string{"configMap", "secret"}).Draw(t, "kind")
			name, key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "key")
			entry := fmt.Sprintf("env: [{name: V, valueFrom: {%sKeyRef: {name: %s, key: %s, optional: %t}}}]", kind, name, key, rapid.Bool().Draw(t, "optional"))
			if rapid.Bool().Draw(t, "from") {
				entry = fmt.Sprintf("envFrom: [{%sRef: {name: %s}}]", kind, name)
			}
			containers = append(containers, fmt.Sprintf("{name: c%d, %s}", i, entry))
		}
		objects := []bundle.Object{pods(t, "{containers: ["+strings.Join(containers, ", ")+"]}")}
		keys := map[bundle.ID][]string{}
		for _, name := range []string{"ConfigMap a", "Secret b"} {
			if rapid.Bool().Draw(t, "live") {
				keys[id(name)] = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), rapid.ID).Draw(t, "keys")
			}
		}
		if rapid.Bool().Draw(t, "own") {
			objects = append(objects, object("Secret a", map[string]any{"data": map[string]any{"x": ""}}))
		}
		in := bundle.Intent{Cluster: "c1", UID: "u1", Owner: owner, Sequence: order(t, objects...)}
		p, err := bundle.NewPlan(in)
		require.NoError(t, err)
		lacks := p.Lacks(keys)
		for _, l := range lacks {
			for _, key := range l.Keys {
				require.NotContains(t, keys[l.ID], key)
			}
			require.NotEmpty(t, p.Lacks(keys))
			keys[l.ID] = slices.Concat(keys[l.ID], l.Keys, []string{})
			if keys[l.ID] == nil {
				keys[l.ID] = []string{}
			}
		}
		require.Empty(t, p.Lacks(keys))
	})
}
