package bundles

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
)

// canary is a value that only a Secret has.
const canary = "canary-4711-#"

// TRUST.md R5: whatever is wrong with values from a Secret, no condition, Event or BundleRevision
// quotes them, and the message still leads to the fault.
func TestDeploymentQuotesNoSecret(t *testing.T) {
	t.Parallel()
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: x}\n"
	tests := map[string]struct {
		why, values, schema, template string
		reason, message               string
	}{
		"Values": {why: "no map", values: canary, template: good, reason: "RenderFailed", message: "Secret values, key values.yaml"},
		"Syntax": {why: "an anchor of YAML", values: "password: *" + canary, template: good, reason: "RenderFailed", message: "Secret values, key values.yaml"},
		"Schema": {
			why: "each keyword that quotes", values: "password: " + canary + "\nport: 27182818\n", template: good, reason: "RenderFailed", message: "password: ",
			schema: `{"properties": {"password": {"pattern": "^[a-z]*$", "format": "ipv4"}, "port": {"maximum": 5}}}`,
		},
		"Fail": {why: "the template says it", values: "password: " + canary, reason: "RenderFailed", message: "templates/all.yaml:1:", template: `{{ fail (printf "bad %s" .Values.password) }}`},
		"Function": {
			why: "a function says it", values: "password: " + canary, reason: "RenderFailed", message: "templates/all.yaml:1:",
			template: `{{ toDate "2006" .Values.password }}{{ include .Values.password . }}`,
		},
		"Manifest": {why: "what is rendered is no YAML", values: "password: " + canary, reason: "RenderFailed", message: "templates/all.yaml, document 1", template: "a: *{{ .Values.password }}\n"},
		"Key":      {why: "a key twice", values: "password: " + canary, reason: "RenderFailed", message: "templates/all.yaml, document 1", template: good + "{{ .Values.password | quote }}: 1\n{{ .Values.password | quote }}: 2\n"},
		"Annotation": {
			why: "an order that cannot be read", values: "password: " + canary, reason: "RenderFailed", message: "values of Secrets",
			template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {orcon.tengu.io/phase: {{ .Values.password | quote }}}}\n",
		},
		"Invalid": {
			why: "the API server quotes what it refuses", values: "password: " + canary, reason: "PlanFailed", message: "spec.externalName",
			template: "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ExternalName, externalName: {{ .Values.password | quote }}}\n",
		},
		"Hidden": {
			why: "also of a Secret", values: "password: " + canary, reason: "PlanFailed", message: "data[tls.crt]",
			template: "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\nstringData: {k: {{ .Values.password | quote }}}\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOperated(t)
			w.controller()
			w.chartFiles("chart", map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}, tc.schema)
			w.chartFiles("templates", map[string]string{"all.yaml": tc.template}, "")
			require.NoError(t, w.admin.Create(w.ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "values"}, StringData: map[string]string{"values.yaml": tc.values},
			}))
			d := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
			d.Spec.Sources = []v1alpha1.BundleSource{{Reference: "configmaps:chart"}, {Reference: "configmaps:templates", Destination: "templates"}}
			d.Spec.Render.ValuesFrom = []v1alpha1.BundleValues{{Kind: "Secret", Name: "values"}}
			require.NoError(t, w.admin.Create(w.ctx, d))
			assert.Contains(t, w.ready(d, tc.reason), tc.message, tc.why)
			said := w.said()
			for _, value := range []string{"canary", "27182818", "2.7182818e+07"} {
				assert.NotContains(t, said, value, tc.why)
			}
		})
	}
}

// chartFiles makes a ConfigMap with the files of a chart.
func (w *operated) chartFiles(name string, data map[string]string, schema string) {
	w.t.Helper()
	if schema != "" {
		data["values.schema.json"] = schema
	}
	require.NoError(w.t, w.admin.Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: data}))
}

// said is all that the namespace shows to those who may not read Secrets.
func (w *operated) said() string {
	w.t.Helper()
	var all []byte
	for _, list := range []client.ObjectList{&v1alpha1.BundleDeploymentList{}, &v1alpha1.BundleRevisionList{}, &eventsv1.EventList{}} {
		require.NoError(w.t, w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
		text, err := json.Marshal(list)
		require.NoError(w.t, err)
		all = append(all, text...)
	}
	return string(all)
}
