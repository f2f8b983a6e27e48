package bundle_test

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestOrder(t *testing.T) {
	webhook := object("ValidatingWebhookConfiguration judge", map[string]any{"webhooks": []any{map[string]any{
		"clientConfig": map[string]any{"service": map[string]any{"namespace": "shop", "name": "web"}}}}})
	tests := map[string]struct {
		why     string
		objects []bundle.Object
		want    []string
	}{
		"Phases": {
			why: "each kind has its turn, whatever the order of the files",
			objects: []bundle.Object{job("init", "true"), object("Engine v8"), webhook, object("Ingress web"), object("HorizontalPodAutoscaler web"), object("Deployment web"),
				object("Service web"), object("PersistentVolumeClaim data"), object("Secret key"), object("Role web"), object("ServiceAccount web"), engine(),
				object("ResourceQuota most"), object("Namespace shop")},
			want: []string{"Namespace shop", "ResourceQuota most", "CustomResourceDefinition engines.race.example.org", "ServiceAccount web", "Role web", "Secret key",
				"PersistentVolumeClaim data", "Service web", "Deployment web", "HorizontalPodAutoscaler web", "Ingress web", "ValidatingWebhookConfiguration judge", "Engine v8", "Job init"},
		},
		"Phase": {
			why:     "the author knows better",
			objects: []bundle.Object{job("schema", "true", "phase=configuration"), object("Service web"), object("Deployment web", "phase=jobs")},
			want:    []string{"Job schema", "Service web", "Deployment web"},
		},
		"After": {
			why:     "an edge beats the phases: the console waits for the Job, which waits for the identity service",
			objects: []bundle.Object{object("Deployment console", "after=Job/init"), job("init", "true", "after=Service/identity"), object("Service identity"), object("Deployment identity"), object("Deployment another")},
			want:    []string{"Service identity", "Deployment another", "Deployment identity", "Job init", "Deployment console"},
		},
		"Serving": {
			why:     "no Service answers before the workloads' turn, so who waits for that waits among them",
			objects: []bundle.Object{object("Deployment web"), object("Service web"), job("init", "nc -z web:80", "phase=storage"), object("ConfigMap late", "after=Service/web"), object("HorizontalPodAutoscaler web")},
			want:    []string{"Service web", "ConfigMap late", "Deployment web", "Job init", "HorizontalPodAutoscaler web"},
		},
		"Within": {
			why:     "an edge holds within a phase too",
			objects: []bundle.Object{object("Deployment a", "after=Deployment/b"), object("Deployment b", "after=Deployment.apps/shop/c"), object("Deployment c")},
			want:    []string{"Deployment c", "Deployment b", "Deployment a"},
		},
		"Resource": {
			why:     "no custom resource before its definition, whatever its author says",
			objects: []bundle.Object{object("Engine v8", "phase=namespaces"), engine()},
			want:    []string{"CustomResourceDefinition engines.race.example.org", "Engine v8"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, names(order(t, tc.objects...)), tc.why)
		})
	}
}

func TestOrderEdges(t *testing.T) {
	service := map[string]any{"service": map[string]any{"namespace": "shop", "name": "web"}}
	web, db := object("Service web"), object("Service db")
	converted := engine()
	converted["spec"].(map[string]any)["conversion"] = map[string]any{"webhook": map[string]any{"clientConfig": service}}
	needy := job("init", "true", "phase=policies")
	maps.Copy(needy.At("spec", "template", "spec").(map[string]any), map[string]any{
		"serviceAccountName": "runner",
		"volumes": []any{
			map[string]any{"name": "x", "persistentVolumeClaim": map[string]any{"claimName": "data"}}, map[string]any{"secret": map[string]any{"secretName": "key"}},
			map[string]any{"configMap": map[string]any{"name": "of another bundle"}},
		},
		"initContainers": []any{map[string]any{"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "settings"}}}}},
	})
	tests := map[string]struct {
		why    string
		object bundle.Object
		want   []string
	}{
		"Webhook":  {why: "who calls a webhook that nobody answers is refused", object: object("ValidatingWebhookConfiguration judge", map[string]any{"webhooks": []any{map[string]any{"clientConfig": service}}}), want: []string{"Service web serving"}},
		"Early":    {why: "its server waits for its own configuration, says the author", object: object("ValidatingWebhookConfiguration judge", "phase=services", map[string]any{"webhooks": []any{map[string]any{"clientConfig": service}}}), want: nil},
		"API":      {why: "an API that nobody serves breaks discovery", object: object("APIService v1.x", map[string]any{"spec": service}), want: []string{"Service web serving"}},
		"URL":      {why: "a Job names a Service by its address", object: job("init", "curl -sf http://web:8080/ready"), want: []string{"Service web serving"}},
		"Hosts":    {why: "each of them, also by their full names", object: job("init", "nc -z db:5432 && wget -q https://me@web.shop.svc.cluster.local/x"), want: []string{"Service db serving", "Service web serving"}},
		"Word":     {why: "a word is no address, nor is a part of another", object: job("init", "echo the web is wide as the web; x/web:80 web.example.org //db.office"), want: nil},
		"Alone":    {why: "the value of a variable, or an argument", object: job("init", "web.shop"), want: []string{"Service web serving"}},
		"Resource": {why: "converted by a Service of the bundle", object: object("Engine v8"), want: []string{"CustomResourceDefinition engines.race.example.org", "Service web serving"}},
		"Named":    {why: "what its pods need, also where it runs before its time", object: needy, want: []string{"ConfigMap settings", "PersistentVolumeClaim data", "Secret key", "ServiceAccount runner"}},
		"Plain":    {why: "healthy is asked of what is no Service", object: object("Deployment x", "after=Engine/v9"), want: []string{"Engine v9"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := order(t, converted, object("Engine v9", "phase=configuration"), web, db,
				object("ConfigMap settings"), object("Secret key"), object("PersistentVolumeClaim data"), object("ServiceAccount runner"), tc.object)
			var got []string
			for _, e := range find(t, s, tc.object.ID().Kind+" "+tc.object.ID().Name).After {
				text := e.To.Kind + " " + e.To.Name
				if e.Serving {
					text += " serving"
				}
				assert.NotEmpty(t, e.Why)
				got = append(got, text)
			}
			assert.ElementsMatch(t, tc.want, got, tc.why)
		})
	}
}

func TestOrderRefuses(t *testing.T) {
	tests := map[string]struct {
		objects []bundle.Object
		// want are parts of the error: what, why, and what to do.
		want []string
	}{
		"NoName":     {objects: []bundle.Object{{"kind": "Service", "apiVersion": "v1"}}, want: []string{"Service", "has no metadata.name", "write one"}},
		"Twice":      {objects: []bundle.Object{object("Service web"), object("Service web")}, want: []string{"the bundle defines Service shop/web twice", "remove or rename one"}},
		"Phase":      {objects: []bundle.Object{object("Service web", "phase=sevices")}, want: []string{"orcon.tengu.io/phase of Service shop/web", `did you mean "services"`}},
		"NoPhase":    {objects: []bundle.Object{object("Service web", "phase=7")}, want: []string{"write one of namespaces, policies"}},
		"Key":        {objects: []bundle.Object{object("Service web", "phases=services")}, want: []string{"did you mean orcon.tengu.io/phase"}},
		"Prune":      {objects: []bundle.Object{object("Service web", "prune=never")}, want: []string{`did you mean "Never"`}},
		"Run":        {objects: []bundle.Object{object("Service web", "run-policy=Once")}, want: []string{"only a Job is run"}},
		"Forged":     {objects: []bundle.Object{object("Service web", "bundle=a/b")}, want: []string{"only Orcon writes it"}},
		"Target":     {objects: []bundle.Object{object("Service web"), object("Deployment web", "after=Service/wep")}, want: []string{"Deployment shop/web", "orcon.tengu.io/after", `"Service/wep" is not in the bundle`, `did you mean "Service/web"`}},
		"Elsewhere":  {objects: []bundle.Object{object("Service web"), object("Deployment web", "after=Service/office/web")}, want: []string{`did you mean "Service/shop/web"`}},
		"NoTarget":   {objects: []bundle.Object{object("Deployment web", "after=web")}, want: []string{`"web" names no object`, "Kind.group/namespace/name"}},
		"EmptyGroup": {objects: []bundle.Object{object("Deployment web", "after=Service./web")}, want: []string{"empty group"}},
		"Ambiguous": {
			objects: []bundle.Object{object("Service web"), {"apiVersion": "serving.example.org/v1", "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "shop"}}, object("Deployment web", "after=Service/web")},
			want:    []string{"more than one object", "Service/shop/web, Service.serving.example.org/shop/web"},
		},
		"Cycle": {
			objects: []bundle.Object{object("Deployment a", "after=Deployment/b"), object("Deployment b", "after=Service/c"), object("Service c", "after=Deployment/a")},
			want:    []string{"wait for each other", "Service shop/c → Deployment shop/a → Deployment shop/b → Service shop/c"},
		},
		"Itself": {objects: []bundle.Object{object("Deployment a", "after=Deployment/a")}, want: []string{"Deployment shop/a → Deployment shop/a"}},
		"All":    {objects: []bundle.Object{object("Service web", "phase=x"), object("Service db", "optional=yes")}, want: []string{"Service shop/web", "Service shop/db"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := bundle.Order(tc.objects)
			require.Error(t, err)
			for _, part := range tc.want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

func TestJobNames(t *testing.T) {
	name := func(o bundle.Object) string { return order(t, o)[0].ID.Name }
	first := name(job("init", "true"))
	assert.Regexp(t, `^init-[0-9a-f]{10}$`, first)
	assert.Equal(t, first, name(job("init", "true")), "the same content is the same Job")
	assert.NotEqual(t, first, name(job("init", "false")), "a Job is never changed: other content is another Job")
	long := name(job(strings.Repeat("a", 80), "true"))
	assert.Len(t, long, 63)
	dotted := order(t, job(strings.Repeat("x", 51)+".example", "true"))[0].ID.Name
	assert.NotContains(t, dotted, ".-", "the API server refuses it")
	assert.NotEqual(t, long, name(job(strings.Repeat("a", 81), "true")), "cut names stay apart")

	short := job("init", "true")
	short["spec"].(map[string]any)["ttlSecondsAfterFinished"] = int64(5)
	item := order(t, short)[0]
	assert.Equal(t, int64(24*60*60), item.Object.At("spec", "ttlSecondsAfterFinished"), "its completion can be seen after an outage")
	assert.Equal(t, int64(5), short.At("spec", "ttlSecondsAfterFinished"), "what was given is left as it was")
	assert.Equal(t, "init", short.ID().Name)
}

// drawn are objects with edges that lead nowhere but back in their list, so that
// there is no cycle.
func drawn(t *rapid.T) []bundle.Object {
	kinds := []string{"Service", "Deployment", "ConfigMap", "Engine", "Job"}
	var objects []bundle.Object
	for i := range rapid.IntRange(0, 12).Draw(t, "objects") {
		o := object(rapid.SampledFrom(kinds).Draw(t, "kind") + " " + string(rune('a'+i)))
		if i > 0 && rapid.Bool().Draw(t, "after") {
			to := objects[rapid.IntRange(0, i-1).Draw(t, "to")].ID()
			o["metadata"].(map[string]any)["annotations"] = map[string]any{bundle.AfterKey: to.Kind + "/" + to.Name}
		}
		objects = append(objects, o)
	}
	return objects
}

// What an object waits for stands before it; and the order of files is none.
func TestOrderIsTopologicalAndOrderFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := append(drawn(t), engine())
		s := order(t, objects...)
		at := map[bundle.ID]int{}
		for i, item := range s {
			at[item.ID] = i
			for _, e := range item.After {
				before, there := at[e.To]
				require.True(t, there, "%s stands before %s", item.ID, e.To)
				require.LessOrEqual(t, s[before].Phase, item.Phase)
			}
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		assert.Equal(t, s, order(t, objects...))
	})
}

func FuzzParseAfter(f *testing.F) {
	f.Add("Service/web, Deployment.apps/shop/web")
	f.Fuzz(func(t *testing.T, text string) {
		targets, err := bundle.ParseAfter(text)
		if err != nil {
			return
		}
		for _, target := range targets {
			again, err := bundle.ParseAfter(target.String())
			require.NoError(t, err)
			require.Equal(t, []bundle.Target{target}, again)
		}
	})
}

func FuzzParsePhase(f *testing.F) {
	f.Add("custom-resources")
	f.Fuzz(func(t *testing.T, text string) {
		if phase, err := bundle.ParsePhase(text); err == nil {
			require.Equal(t, text, phase.String())
		} else {
			require.NotEmpty(t, err.Error())
		}
		if policy, err := bundle.ParseRunPolicy(text); err == nil {
			require.Equal(t, text, string(policy))
		}
	})
}

// An object whose manifest names a controller is refused: Orcon would neither change nor delete it again.
func TestOrderRefusesControlled(t *testing.T) {
	web := object("Deployment web")
	web["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"kind": "Engine", "name": "v8", "controller": true}}
	_, err := bundle.Order([]bundle.Object{web})
	require.EqualError(t, err, "cannot order object Deployment shop/web: metadata.ownerReferences says that Engine v8 controls it, which then owns "+
		"it instead of the deployment: remove the reference")
}
