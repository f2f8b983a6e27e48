package injection_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

// INJECTION.md I30, SAFETY.md I21, I22: the pod carries its declaration.
func TestCopies(t *testing.T) {
	web := map[string]string{"app": "web"}
	service := func(name string, annotations map[string]string) injection.Service {
		return injection.Service{Name: name, Selector: web, Annotations: annotations}
	}
	tests := map[string]struct {
		why      string
		own      map[string]string
		template map[string]string
		services []injection.Service
		frozen   bool
		made     bool
		want     map[string]string
		told     string
	}{
		"Nothing":  {why: "nothing to copy"},
		"Copied":   {why: "consumer keys alone", own: map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": "pg", "tengu.io/on-change": "restart"}, want: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"Beside":   {why: "other annotations stay", own: map[string]string{"tengu.io/consumes": "db"}, template: map[string]string{"x": "y"}, want: map[string]string{"x": "y", "tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"Again":    {why: "twice is once", own: map[string]string{"tengu.io/consumes": "db"}, template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}, want: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"Follows":  {why: "a copy follows its origin", own: map[string]string{"tengu.io/consumes": "db,sse", "tengu.io/env": "db=user"}, template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}, want: map[string]string{"tengu.io/consumes": "db,sse", "tengu.io/env": "db=user", "injector.tengu.io/copied": "tengu.io/consumes,tengu.io/env"}},
		"Gone":     {why: "the author took it away", template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}, want: map[string]string{}},
		"Authored": {why: "what the template's author wrote counts", own: map[string]string{"tengu.io/consumes": "db"}, template: map[string]string{"tengu.io/consumes": "sse"}, want: map[string]string{"tengu.io/consumes": "sse"}, told: `the pod template says "sse"`},
		"Same":     {why: "twice the same is no conflict", own: map[string]string{"tengu.io/consumes": "db"}, template: map[string]string{"tengu.io/consumes": "db"}, want: map[string]string{"tengu.io/consumes": "db"}},
		"Mixed":    {why: "each key by itself", own: map[string]string{"tengu.io/consumes": "db", "tengu.io/gate": "none"}, template: map[string]string{"tengu.io/consumes": "db"}, want: map[string]string{"tengu.io/consumes": "db", "tengu.io/gate": "none", "injector.tengu.io/copied": "tengu.io/gate"}},
		"Frozen":   {why: "a Job's template cannot change", own: map[string]string{"tengu.io/consumes": "db"}, frozen: true},
		"Made":     {why: "what a controller made is its maker's: a changed template would be made anew for ever", own: map[string]string{"tengu.io/consumes": "db"}, made: true},
		"Service":  {why: "I22", services: []injection.Service{service("web", map[string]string{"tengu.io/consumes": "db", "tengu.io/env": "db=user", "tengu.io/application": "no", "injector.tengu.io/inject": "false"})}, want: map[string]string{"tengu.io/consumes": "db", "tengu.io/env": "db=user", "injector.tengu.io/copied": "tengu.io/consumes@web,tengu.io/env@web"}},
		"OtherService": {
			why:      "it selects other pods, or none",
			services: []injection.Service{{Name: "api", Selector: map[string]string{"app": "api"}, Annotations: map[string]string{"tengu.io/consumes": "db"}}, {Name: "outside", Annotations: map[string]string{"tengu.io/consumes": "db"}}},
		},
		"TwoServices":     {why: "never a guess", services: []injection.Service{service("b", map[string]string{"tengu.io/consumes": "db"}), service("a", map[string]string{"tengu.io/consumes": "sse"})}, told: "Services a and b both"},
		"OwnBeatsService": {why: "the workload says it itself", own: map[string]string{"tengu.io/consumes": "sse"}, services: []injection.Service{service("web", map[string]string{"tengu.io/consumes": "db", "tengu.io/env": "db=x"})}, want: map[string]string{"tengu.io/consumes": "sse", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"ServiceGone":     {why: "SAFETY.md L5: an end is never guessed", template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes@web"}, want: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes@web"}},
		"ServiceChanged":  {why: "a copy follows its origin", services: []injection.Service{service("web", map[string]string{"tengu.io/consumes": "db,sse"})}, template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes@web"}, want: map[string]string{"tengu.io/consumes": "db,sse", "injector.tengu.io/copied": "tengu.io/consumes@web"}},
		"ServiceTakesBack": {
			why:      "a copy follows its origin, which is there and says less: pods would start without waiting for ever",
			services: []injection.Service{service("web", map[string]string{"tengu.io/consumes": "db"})},
			template: map[string]string{"tengu.io/consumes": "db", "tengu.io/gate": "none", "injector.tengu.io/copied": "tengu.io/consumes@web,tengu.io/gate@web"},
			want:     map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes@web"},
		},
		"ServiceReplaced": {
			why:      "the variables were of what the other Service consumed",
			services: []injection.Service{service("api", map[string]string{"tengu.io/consumes": "sse"})},
			template: map[string]string{"tengu.io/consumes": "db", "tengu.io/env": "db=user", "injector.tengu.io/copied": "tengu.io/consumes@web,tengu.io/env@web"},
			want:     map[string]string{"tengu.io/consumes": "sse", "injector.tengu.io/copied": "tengu.io/consumes@api"},
		},
		"OwnAfterService": {
			why:      "the workload says it itself now",
			own:      map[string]string{"tengu.io/consumes": "sse"},
			services: []injection.Service{service("web", map[string]string{"tengu.io/consumes": "db", "tengu.io/gate": "none"})},
			template: map[string]string{"tengu.io/consumes": "db", "tengu.io/gate": "none", "injector.tengu.io/copied": "tengu.io/consumes@web,tengu.io/gate@web"},
			want:     map[string]string{"tengu.io/consumes": "sse", "injector.tengu.io/copied": "tengu.io/consumes"},
		},
		"ForgedMark": {why: "only consumer keys are ever taken away", template: map[string]string{"x": "y", "injector.tengu.io/copied": "x"}, want: map[string]string{"x": "y", "injector.tengu.io/copied": "x"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := injection.Workload{Path: "/spec/template", Frozen: tc.frozen}
			w.Metadata.Annotations = tc.own
			if tc.made {
				w.Metadata.OwnerReferences = []injection.Owner{{Kind: "Deployment", Controller: true}}
			}
			w.Template.Metadata.Labels = web
			w.Template.Metadata.Annotations = tc.template
			after, operations, told := injection.Copies(w, tc.services)
			if tc.want == nil {
				assert.Empty(t, operations, tc.why)
			} else {
				assert.Equal(t, tc.want, after, tc.why)
				assert.Equal(t, tc.want, patched(t, tc.template, operations), "the steps lead there")
			}
			if tc.told == "" {
				assert.Empty(t, told, tc.why)
			} else {
				require.Len(t, told, 1)
				assert.Contains(t, told[0].Error(), tc.told, tc.why)
				assert.True(t, told[0].Warning)
			}
			w.Template.Metadata.Annotations = after
			_, again, _ := injection.Copies(w, tc.services)
			assert.Empty(t, again, "twice is once")
		})
	}
}

// patched applies the steps to a template with those annotations.
func patched(t require.TestingT, annotations map[string]string, operations []jsonpatch.Operation) map[string]string {
	var w struct {
		Spec struct {
			Template struct {
				Metadata struct {
					Annotations map[string]string `json:"annotations,omitempty"`
				} `json:"metadata"`
			} `json:"template"`
		} `json:"spec"`
	}
	w.Spec.Template.Metadata.Annotations = annotations
	document := encode(t, w)
	if annotations != nil && len(annotations) == 0 {
		document = []byte(`{"spec":{"template":{"metadata":{"annotations":{}}}}}`)
	}
	w.Spec.Template.Metadata.Annotations = nil
	require.NoError(t, json.Unmarshal(applied(t, document, operations), &w))
	if w.Spec.Template.Metadata.Annotations == nil {
		return map[string]string{}
	}
	return w.Spec.Template.Metadata.Annotations
}

// Whatever happened before, copying settles in one step and touches nothing of
// the author's.
func TestCopiesProperty(t *testing.T) {
	keys := rapid.SampledFrom([]string{"tengu.io/consumes", "tengu.io/env", "tengu.io/gate", "x", "tengu.io/relations", "injector.tengu.io/inject"})
	values := rapid.SampledFrom([]string{"a", "b"})
	draw := rapid.MapOfN(keys, values, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		w := injection.Workload{Path: "/spec/template"}
		authored := draw.Draw(t, "template")
		w.Template.Metadata.Annotations = authored
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			w.Metadata.Annotations = draw.Draw(t, "own")
			services := []injection.Service{{Name: "s", Annotations: draw.Draw(t, "service")}}
			after, operations, _ := injection.Copies(w, services)
			require.Equal(t, after, patched(t, w.Template.Metadata.Annotations, operations))
			w.Template.Metadata.Annotations = after
			_, again, _ := injection.Copies(w, services)
			require.Empty(t, again)
			for key, value := range authored {
				require.Equal(t, value, after[key])
			}
		}
	})
}

// A template lacks declared keys that are absent from it, each with its mark (TRUST.md A11).
func TestUncopied(t *testing.T) {
	tests := map[string]struct {
		why           string
		own, template map[string]string
		made          bool
		want          map[string]string
	}{
		"Nothing":  {why: "nothing is declared"},
		"Lacking":  {why: "the webhook was away", own: map[string]string{"tengu.io/consumes": "db"}, want: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"Copied":   {why: "it was not", own: map[string]string{"tengu.io/consumes": "db"}, template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"Authored": {why: "the author's word counts", own: map[string]string{"tengu.io/consumes": "db"}, template: map[string]string{"tengu.io/consumes": "sse"}},
		"Other":    {why: "earlier copies keep their marks, and their values", own: map[string]string{"tengu.io/consumes": "db,sse", "tengu.io/env": "db=URL"}, template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes@web"}, want: map[string]string{"tengu.io/env": "db=URL", "injector.tengu.io/copied": "tengu.io/consumes@web,tengu.io/env"}},
		"Gone":     {why: "what the author took away is the webhook's to remove", template: map[string]string{"tengu.io/consumes": "db", "injector.tengu.io/copied": "tengu.io/consumes"}},
		"Made":     {why: "its maker would undo it", own: map[string]string{"tengu.io/consumes": "db"}, made: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := injection.Workload{}
			w.Metadata.Annotations, w.Template.Metadata.Annotations = tc.own, tc.template
			if tc.made {
				w.Metadata.OwnerReferences = []injection.Owner{{Kind: "App", Controller: true}}
			}
			assert.Equal(t, tc.want, injection.Uncopied(w, nil), tc.why)
		})
	}
}

// A workload that opts out by its label gets no copies: from the webhook, the controller or orcon inject (INJECTION.md I5, I15,
// TRUST.md A11).
func TestNothingIsCopiedForWhoOptsOutByLabel(t *testing.T) {
	w := injection.Workload{}
	w.Metadata.Labels = map[string]string{"injector.tengu.io/inject": "false"}
	w.Metadata.Annotations = map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": "pg"}
	assert.Empty(t, injection.Uncopied(w, nil), "its pods would be replaced, and injected")

	manifest := toJSON(t, `{kind: Deployment, metadata: {name: web, labels: {injector.tengu.io/inject: "false"}, annotations: {tengu.io/consumes: db,
  tengu.io/relations: pg}}, spec: {template: {metadata: {}, spec: {containers: [{name: a}]}}}}`)
	after, d, err := injection.Inject(plain(), manifest, nil)
	require.NoError(t, err)
	assert.JSONEq(t, string(manifest), string(after))
	assert.Nil(t, d.Injection)
}

// A template that got what it lacked lacks nothing, and lost nothing (TRUST.md A11).
func TestUncopiedComesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		annotations := rapid.MapOf(rapid.SampledFrom([]string{"tengu.io/consumes", "tengu.io/env", "tengu.io/gate", "x"}), rapid.SampledFrom([]string{"a", "b"}))
		w := injection.Workload{}
		w.Metadata.Annotations, w.Template.Metadata.Annotations = annotations.Draw(t, "own"), annotations.Draw(t, "template")
		before := w.Template.Metadata.Annotations
		after := map[string]string{}
		for _, all := range []map[string]string{before, injection.Uncopied(w, nil)} {
			maps.Copy(after, all)
		}
		w.Template.Metadata.Annotations = after
		assert.Empty(t, injection.Uncopied(w, nil))
		for k, v := range before {
			assert.Equal(t, v, after[k])
		}
	})
}
