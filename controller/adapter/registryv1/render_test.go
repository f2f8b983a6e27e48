package registryv1_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/registryv1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// converted returns the one object of a kind that a bundle is converted to, as JSON has it.
func converted(t *testing.T, options registryv1.Options, kind string, documents ...string) map[string]any {
	t.Helper()
	options.Namespace = "operators"
	all, err := registryv1.Convert(objects(t, documents...), options)
	require.NoError(t, err)
	for _, o := range all {
		if o.ID().Kind != kind {
			continue
		}
		text, err := o.Canonical()
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields))
		return fields
	}
	require.Fail(t, "there is none", kind)
	return nil
}

// below returns what stands at a path of names.
func below(fields map[string]any, path ...string) any { return bundle.Object(fields).At(path...) }

// read returns a value in YAML.
func read(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	return value
}

// CONTENT.md X7: pods know where the operator runs and what it watches, and the properties of the bundle.
func TestDeploymentAsOLM(t *testing.T) {
	annotated := strings.Replace(version, "metadata: {name: cache.v1}",
		`metadata: {name: cache.v1, annotations: {capabilities: Full, olm.properties: '[{"type":"a","value":{"y":1,"x":2}}]'}}`, 1)
	tree := bundle.Tree{}
	require.NoError(t, tree.Add("metadata/properties.yaml", bundle.File{Content: []byte("properties:\n- {type: olm.maxOpenShiftVersion, value: '4.20'}\n")}))
	properties, err := registryv1.Properties(&tree)
	require.NoError(t, err)
	d := converted(t, registryv1.Options{Watch: []string{"b", "a"}, Properties: properties}, "Deployment", annotated, definition)
	assert.InDelta(t, 1, below(d, "spec", "revisionHistoryLimit"), 0)
	assert.Equal(t, map[string]any{
		"capabilities": "Full", "olm.targetNamespaces": "a,b", "olm.operatorNamespace": "operators",
		"olm.properties": `[{"type":"a","value":{"y":1,"x":2}},{"type":"olm.maxOpenShiftVersion","value":"4.20"}]`,
	}, below(d, "spec", "template", "metadata", "annotations"))

	tree = bundle.Tree{}
	properties, err = registryv1.Properties(&tree)
	require.NoError(t, err)
	assert.Empty(t, properties, "a bundle need not have any")
	for text, want := range map[string]string{"properties: [": "cannot read metadata/properties.yaml", "properties: [{value: 1}]": "properties[0] of metadata/properties.yaml has no type: add it"} {
		tree := bundle.Tree{}
		require.NoError(t, tree.Add("metadata/properties.yaml", bundle.File{Content: []byte(text)}))
		_, err := registryv1.Properties(&tree)
		require.ErrorContains(t, err, want)
	}
	broken := strings.Replace(version, "metadata: {name: cache.v1}", "metadata: {name: cache.v1, annotations: {olm.properties: '{'}}", 1)
	_, err = registryv1.Convert(objects(t, broken, definition), registryv1.Options{Namespace: "a", Properties: []registryv1.Property{{Type: "a"}}})
	require.ErrorContains(t, err, "cannot read annotation olm.properties of the ClusterServiceVersion")
}

// CONTENT.md X7: a mount where the certificate goes is replaced with its volume, also in other containers.
func TestCertificateVolumes(t *testing.T) {
	pod := `{spec: {containers: [
    {name: c, volumeMounts: [{name: webhook-certs, mountPath: /tmp/k8s-webhook-server/serving-certs}, {name: data, mountPath: /data}]},
    {name: d, volumeMounts: [{name: webhook-certs, mountPath: /elsewhere}]}],
   volumes: [{name: webhook-certs, secret: {secretName: webhook-server-cert}}, {name: data, emptyDir: {}}]}}`
	d := converted(t, registryv1.Options{}, "Deployment", strings.Replace(version, "{spec: {containers: [{name: c}]}}", pod, 1), definition)
	const mounts = "{name: webhook-cert, mountPath: /tmp/k8s-webhook-server/serving-certs}, {name: apiservice-cert, mountPath: /apiserver.local.config/certificates}"
	const secret = "secretName: cache-service-cert, items: [{key: tls.crt, path: PREFIX.crt}, {key: tls.key, path: PREFIX.key}]"
	assert.Equal(t, read(t, "[{name: c, volumeMounts: [{name: data, mountPath: /data}, "+mounts+"]}, {name: d, volumeMounts: ["+mounts+"]}]"),
		below(d, "spec", "template", "spec", "containers"))
	assert.Equal(t, read(t, "[{name: data, emptyDir: {}}, {name: webhook-cert, secret: {"+strings.ReplaceAll(secret, "PREFIX", "tls")+
		"}}, {name: apiservice-cert, secret: {"+strings.ReplaceAll(secret, "PREFIX", "apiserver")+"}}]"), below(d, "spec", "template", "spec", "volumes"))
}

// CONTENT.md X7: the certificate is that of a lifecycle manager: two years, renewed a day before, for all names of the Service.
func TestCertificateAsOLM(t *testing.T) {
	c := converted(t, registryv1.Options{}, "Certificate", version, definition)
	assert.Equal(t, read(t, `{secretName: cache-service-cert, usages: [server auth], duration: 17520h0m0s, renewBefore: 24h0m0s,
  commonName: cache-service.operators, issuerRef: {name: cache-service-cert-selfsigned-issuer},
  dnsNames: [cache-service.operators, cache-service.operators.svc, cache-service.operators.svc.cluster.local]}`), c["spec"])
	issuer := converted(t, registryv1.Options{}, "Issuer", version, definition)
	assert.Equal(t, "cache-service-cert-selfsigned-issuer", below(issuer, "metadata", "name"))
}

// CONTENT.md X7: no name that is made is longer than 63 characters, and no two are alike.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("cache-", 12)
	seen := map[string]bool{}
	for _, deployment := range []string{long + "a", long + "b"} {
		changed := strings.ReplaceAll(strings.ReplaceAll(version, "name: cache,", "name: "+deployment+","), "deploymentName: cache", "deploymentName: "+deployment)
		all, err := registryv1.Convert(objects(t, changed, definition), registryv1.Options{Namespace: "operators"})
		require.NoError(t, err)
		for _, o := range all {
			switch id := o.ID(); id.Kind {
			case "Service", "Certificate", "Issuer":
				assert.LessOrEqual(t, len(id.Name), 63, id)
				assert.False(t, seen[id.String()], id)
				seen[id.String()] = true
				if id.Kind == "Certificate" {
					assert.Nil(t, o.At("spec", "commonName"), "a common name has 64 characters at most")
				}
			}
		}
	}
	assert.Len(t, seen, 6)
}

// CONTENT.md X7: a conversion has the path of a lifecycle manager, and ports of a Service are in their order.
func TestWebhooksAsOLM(t *testing.T) {
	changed := strings.Replace(version, "  - {type: Mutating", "  - {type: ConversionWebhook, generateName: c.example.org, deploymentName: cache, containerPort: 9443, conversionCRDs: [caches.example.org]}\n  - {type: Mutating", 1)
	changed = strings.Replace(changed, ", {type: MultiNamespace, supported: true}", "", 1)
	crd := converted(t, registryv1.Options{}, "CustomResourceDefinition", changed, definition)
	assert.Equal(t, read(t, "{name: cache-service, namespace: operators, path: /, port: 9443}"), below(crd, "spec", "conversion", "webhook", "clientConfig", "service"))
	service := converted(t, registryv1.Options{}, "Service", changed, definition)
	assert.Equal(t, read(t, `[{name: "443", port: 443, targetPort: 443}, {name: "9443", port: 9443, targetPort: 9443}]`), below(service, "spec", "ports"))
}

// CONTENT.md X7: only a webhook that changes objects is called again.
func TestReinvocationPolicy(t *testing.T) {
	for kind, want := range map[string]any{"Mutating": "IfNeeded", "Validating": nil} {
		changed := strings.Replace(version, "{type: MutatingAdmissionWebhook", "{reinvocationPolicy: IfNeeded, type: "+kind+"AdmissionWebhook", 1)
		c := converted(t, registryv1.Options{}, kind+"WebhookConfiguration", changed, definition)
		hooks, _ := c["webhooks"].([]any)
		require.Len(t, hooks, 1)
		hook, _ := hooks[0].(map[string]any)
		assert.Equal(t, want, hook["reinvocationPolicy"], kind)
	}
}

// CONTENT.md X7: the kinds that operator-registry 1.73 lists may be in a bundle, those of a namespace in the operator's
// (pkg/lib/bundle/supported_resources.go). It takes VerticalPodAutoscalers for objects of the cluster, which they are not.
func TestKinds(t *testing.T) {
	const ofNamespace = "ConfigMap NetworkPolicy PodDisruptionBudget PodMonitor PrometheusRule Role RoleBinding Secret Service ServiceAccount ServiceMonitor VerticalPodAutoscaler"
	const ofCluster = "ClusterRole ClusterRoleBinding ConsoleCLIDownload ConsoleLink ConsolePlugin ConsoleQuickStart ConsoleYAMLSample PriorityClass"
	for kind := range strings.FieldsSeq(ofNamespace + " " + ofCluster) {
		all, err := registryv1.Convert(objects(t, version, definition, "apiVersion: v1\nkind: "+kind+"\nmetadata: {name: besides}\n"), registryv1.Options{Namespace: "operators"})
		require.NoError(t, err, kind)
		i := slices.IndexFunc(all, func(o bundle.Object) bool { return o.ID().Kind == kind && o.ID().Name == "besides" })
		require.GreaterOrEqual(t, i, 0, kind)
		if namespace := below(all[i], "metadata", "namespace"); slices.Contains(strings.Fields(ofCluster), kind) {
			assert.Nil(t, namespace, kind)
		} else {
			assert.Equal(t, "operators", namespace, kind)
		}
	}
}

// CONTENT.md X7: a deploymentConfig customizes each deployment as a lifecycle manager does.
func TestDeploymentConfig(t *testing.T) {
	workload := strings.Replace(version, "{spec: {containers: [{name: c}]}}", `{metadata: {annotations: {own: kept}}, spec: {
    affinity: {podAffinity: {own: true}, nodeAffinity: {own: true}}, tolerations: [{key: a}], nodeSelector: {old: gone},
    containers: [{name: c, env: [{name: A, value: own}, {name: B, value: own}], envFrom: [{configMapRef: {name: a}}], resources: {limits: {cpu: 1}}}, {name: d}]}}`, 1)
	values, ok := read(t, `deploymentConfig:
  env: [{name: B, value: new}, {name: C, value: new}]
  envFrom: [{configMapRef: {name: a}}, {secretRef: {name: b}}]
  volumes: [{name: v, emptyDir: {}}]
  volumeMounts: [{name: v, mountPath: /v}]
  tolerations: [{key: a}, {key: b, tolerationSeconds: 30}]
  resources: {requests: {memory: 1Gi}}
  nodeSelector: {disk: ssd}
  affinity: {nodeAffinity: {new: true}}
  annotations: {own: lost, team: shop}
`).(map[string]any)
	require.True(t, ok)
	config, err := registryv1.ParseConfig(values)
	require.NoError(t, err)
	changed := strings.Replace(workload, "  - {type: MutatingAdmissionWebhook", "  - {type: none", 1)
	changed = strings.Split(changed, "  webhookdefinitions")[0]
	before, err := json.Marshal(values)
	require.NoError(t, err)
	d := converted(t, registryv1.Options{Config: config}, "Deployment", changed, definition)
	again := converted(t, registryv1.Options{Config: config}, "Deployment", changed, definition)
	assert.Equal(t, d, again)
	after, err := json.Marshal(values)
	require.NoError(t, err)
	assert.JSONEq(t, string(before), string(after), "what is given stays as it is")
	assert.Equal(t, read(t, "{own: lost, team: shop}"), below(d, "metadata", "annotations"))
	annotations, _ := below(d, "spec", "template", "metadata", "annotations").(map[string]any)
	assert.Equal(t, "kept", annotations["own"])
	assert.Equal(t, "shop", annotations["team"])
	const both = "envFrom: [{configMapRef: {name: a}}, {secretRef: {name: b}}], volumeMounts: [{name: v, mountPath: /v}], resources: {requests: {memory: 1Gi}}"
	assert.Equal(t, read(t, `affinity: {podAffinity: {own: true}, nodeAffinity: {new: true}}
tolerations: [{key: a}, {key: b, tolerationSeconds: 30}]
nodeSelector: {disk: ssd}
volumes: [{name: v, emptyDir: {}}]
containers:
- {name: c, env: [{name: A, value: own}, {name: B, value: new}, {name: C, value: new}], `+both+`}
- {name: d, env: [{name: B, value: new}, {name: C, value: new}], `+both+`}
`), below(d, "spec", "template", "spec"))
	none, err := registryv1.ParseConfig(nil)
	require.NoError(t, err)
	plain := converted(t, registryv1.Options{Config: none}, "Deployment", version, definition)
	assert.Nil(t, below(plain, "metadata", "annotations"))

	for text, want := range map[string]string{
		"deploymentconfig: {}":             `cannot use the values of the operator: "deploymentconfig" is unknown: did you mean "deploymentConfig"?`,
		"deploymentConfig: {envs: []}":     `deploymentConfig: "envs" is unknown: did you mean "env"?`,
		"deploymentConfig: {selector: {}}": `deploymentConfig: "selector" is unknown`,
		"deploymentConfig: []":             "deploymentConfig is not a map of settings",
		"deploymentConfig: {env: {a: b}}":  "deploymentConfig.env is not a list of maps",
		"deploymentConfig: {env: [a]}":     "deploymentConfig.env is not a list of maps",
		"deploymentConfig: {affinity: []}": "deploymentConfig.affinity is not a map",
	} {
		values, _ := read(t, text).(map[string]any)
		_, err := registryv1.ParseConfig(values)
		require.ErrorContains(t, err, want, text)
	}
}
