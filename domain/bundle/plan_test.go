package bundle_test

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const owner = "shop/store"

// draft plans some objects against what is live, after changes to the intent.
func draft(t *testing.T, live map[bundle.ID]bundle.Live, change func(*bundle.Intent), objects ...bundle.Object) bundle.Plan {
	t.Helper()
	in := bundle.Intent{Cluster: "c1", UID: "u1", Owner: owner, Sequence: order(t, objects...), Live: live}
	if change != nil {
		change(&in)
	}
	p, err := bundle.NewPlan(in)
	require.NoError(t, err)
	return p
}

// is makes an object live: owned by whom, "" for nobody, with further fields of metadata.
func is(o bundle.Object, by string, metadata ...map[string]any) bundle.Live {
	m := map[string]any{"name": o.ID().Name, "namespace": o.ID().Namespace, "uid": "uid-" + o.ID().Name, "resourceVersion": "7"}
	if by != "" {
		notes, _ := o.At("metadata", "annotations").(map[string]any)
		m["annotations"] = but(but(notes, bundle.OwnerKey, any(by)), bundle.DigestKey, any("of before"))
	}
	for _, more := range metadata {
		maps.Copy(m, more)
	}
	return bundle.Live{Object: bundle.Object{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": m}}
}

// said lists the actions as "verb Kind name".
func said(p bundle.Plan) []string {
	var all []string
	for _, a := range p.Actions {
		all = append(all, string(a.Verb)+" "+a.ID.Kind+" "+a.ID.Name)
	}
	return all
}

func TestSituation(t *testing.T) {
	web := object("Deployment web")
	tests := map[string]struct {
		why    string
		live   bundle.Live
		want   bundle.Situation
		holder string
	}{
		"Absent":     {why: "nothing is nobody's", want: bundle.Absent},
		"Ours":       {why: "the mark says so", live: is(web, owner), want: bundle.Ours},
		"Unowned":    {why: "made by a person", live: is(web, ""), want: bundle.Unowned, holder: ""},
		"Another":    {why: "one object, two bundles", live: is(web, "shop/other"), want: bundle.Another, holder: "deployment shop/other"},
		"Helm":       {why: "another program's mark", live: is(web, "", map[string]any{"annotations": map[string]any{"meta.helm.sh/release-name": "web"}}), want: bundle.Foreign, holder: "Helm release web"},
		"Controller": {why: "its controller would undo all", live: is(web, owner, map[string]any{"ownerReferences": []any{map[string]any{"kind": "Engine", "name": "v8", "controller": true}}}), want: bundle.Foreign, holder: "controller Engine v8"},
		"Reference":  {why: "an owner that does not control is for collecting garbage", live: is(web, owner, map[string]any{"ownerReferences": []any{map[string]any{"kind": "Engine", "name": "v8"}}}), want: bundle.Ours},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			situation, holder := tc.live.Situation(owner)
			assert.Equal(t, tc.want, situation, tc.why)
			assert.Equal(t, tc.holder, holder, tc.why)
		})
	}
}

// BUNDLES.md 5: what somebody else has made is a conflict, shown and not touched, unless
// the deployment says otherwise; and BUNDLES.md 2: fields too.
func TestNewPlanConflicts(t *testing.T) {
	web := object("Deployment web")
	helm := map[string]any{"annotations": map[string]any{"meta.helm.sh/release-name": "web"}}
	with := func(l bundle.Live, changes ...bundle.Change) bundle.Live { l.Changes = changes; return l }
	theirs := bundle.Change{Path: "spec.replicas", Before: "3", After: "1", Manager: "kubectl"}
	ours := bundle.Change{Path: "spec.paused", Before: "true", Manager: "kubectl", Ours: true}
	fixed := is(web, "")
	fixed.Immutable = "spec.selector: field is immutable"
	tests := map[string]struct {
		why    string
		policy bundle.ConflictPolicy
		live   bundle.Live
		want   string
		force  []string
		// conflict is part of its text.
		conflict string
	}{
		"Prevent":        {why: "the default", live: is(web, ""), want: "none Deployment web", conflict: "is not managed by Orcon: delete it, rename it in the bundle, or make it part of this deployment (conflicts: AdoptUnowned)"},
		"PreventFields":  {why: "to adopt it would not be enough", live: with(is(web, ""), theirs), want: "none Deployment web", conflict: "is not managed by Orcon: delete it, rename it in the bundle, or make it part of this deployment (conflicts: Take)"},
		"PreventAnother": {why: "the default", live: is(web, "shop/other"), want: "none Deployment web", conflict: "is managed by deployment shop/other: delete it"},
		"Adopt":          {why: "nobody loses anything", policy: bundle.AdoptUnowned, live: is(web, ""), want: "adopt Deployment web"},
		"AdoptOnly":      {why: "what is Helm's is not unowned", policy: bundle.AdoptUnowned, live: is(web, "", helm), want: "none Deployment web", conflict: "Helm release web: delete it, rename it in the bundle, or make it part of this deployment (conflicts: Take)"},
		"AdoptFields":    {why: "somebody set the field otherwise", policy: bundle.AdoptUnowned, live: with(is(web, ""), theirs), want: "adopt Deployment web", conflict: "spec.replicas (kubectl)"},
		"Fixed":          {why: "to take it would not help", policy: bundle.TakeAll, live: fixed, want: "none Deployment web", conflict: "cannot be changed in place: delete it, or rename it in the bundle"},
		"Take":           {why: "with the fields that the plan lists", policy: bundle.TakeAll, live: with(is(web, "", helm), theirs), want: "take Deployment web", force: []string{"spec.replicas"}},
		"TakeUnowned":    {why: "to take includes to adopt", policy: bundle.TakeAll, live: with(is(web, ""), theirs), want: "adopt Deployment web", force: []string{"spec.replicas"}},
		"Drift":          {why: "what was set here before is put right", live: with(is(web, owner), ours), want: "update Deployment web", force: []string{"spec.paused"}},
		"Field":          {why: "a field that another began to manage", live: with(is(web, owner), ours, theirs), want: "update Deployment web", force: []string{"spec.paused"}, conflict: "has fields that others manage: spec.replicas (kubectl)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := draft(t, map[bundle.ID]bundle.Live{web.ID(): tc.live}, func(in *bundle.Intent) { in.Conflicts = tc.policy }, web)
			assert.Equal(t, []string{tc.want}, said(p), tc.why)
			assert.Equal(t, tc.force, p.Actions[0].Force, tc.why)
			if tc.conflict == "" {
				assert.Empty(t, p.Conflicts, tc.why)
				assert.NoError(t, bundle.Approve(p, bundle.Gate{}, nil))
				return
			}
			require.Len(t, p.Conflicts, 1, tc.why)
			assert.Contains(t, p.Conflicts[0].String(), tc.conflict)
			assert.Equal(t, p.Conflicts[0].Words("--conflicts "), p.Preview().Conflicts[0], "a command line has a flag")
			assert.Error(t, bundle.Approve(p, bundle.Gate{}, []bundle.Approval{{PlanDigest: p.Digest, Confirmed: []bundle.ID{web.ID()}}}), "no approval overcomes a conflict")
		})
	}
}

// A way back takes what the deployment takes, but for what another deployment has by now (BUNDLES.md 6).
func TestNewPlanTakesBack(t *testing.T) {
	web := object("Deployment web")
	helm := map[string]any{"annotations": map[string]any{"meta.helm.sh/release-name": "web"}}
	for name, test := range map[string]struct {
		live      bundle.Live
		want      string
		conflicts int
	}{
		"Helm":    {is(web, "", helm), "take Deployment web", 0},
		"Another": {is(web, "shop/other"), "none Deployment web", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := draft(t, map[bundle.ID]bundle.Live{web.ID(): test.live}, func(in *bundle.Intent) { in.Conflicts, in.Back = bundle.TakeAll, 1 }, web)
			assert.Equal(t, []string{test.want}, said(p))
			assert.Len(t, p.Conflicts, test.conflicts)
		})
	}
}

func TestNewPlanActions(t *testing.T) {
	web, changed := object("Deployment web"), object("Deployment web", map[string]any{"spec": map[string]any{"replicas": int64(2)}})
	init := job("init", "true")
	run := order(t, init)[0].ID
	applied := is(web, owner, map[string]any{"annotations": map[string]any{bundle.OwnerKey: owner, bundle.DigestKey: order(t, web)[0].Digest}})
	end := func(how string) bundle.Live {
		l := is(init, owner)
		l.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": how, "status": "True"}}}
		return l
	}
	immutable := is(web, owner)
	immutable.Immutable = "spec.selector: field is immutable"
	tests := map[string]struct {
		why    string
		object bundle.Object
		live   bundle.Live
		record bundle.Record
		want   bundle.Action
	}{
		"Create":    {why: "it is not there", object: web, want: bundle.Action{Verb: bundle.Create}},
		"None":      {why: "it is what it shall be", object: web, live: applied, want: bundle.Action{Verb: bundle.None}},
		"Update":    {why: "other content", object: changed, live: applied, want: bundle.Action{Verb: bundle.Update}},
		"Recreate":  {why: "it cannot be changed", object: web, live: immutable, want: bundle.Action{Verb: bundle.Recreate, Why: "spec.selector: field is immutable", Replaces: "uid-web", Restarts: true}},
		"Leaving":   {why: "it is going", object: web, live: is(web, owner, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}), want: bundle.Action{Verb: bundle.Recreate, Why: "is being deleted", Replaces: "uid-web", Restarts: true}},
		"Optional":  {why: "this cluster has no such kind", object: object("Engine v8", "optional=IfAPIPresent"), live: bundle.Live{NoAPI: true}, want: bundle.Action{Verb: bundle.None, Why: "skipped: the cluster does not have this kind"}},
		"Run":       {why: "it has never run", object: init, want: bundle.Action{Verb: bundle.Run}},
		"Running":   {why: "it runs", object: init, live: is(init, owner), want: bundle.Action{Verb: bundle.None, Why: "exists"}},
		"Ran":       {why: "its completion is recorded, and its TTL has removed it", object: init, record: bundle.Record{Completed: []bundle.ID{run}}, want: bundle.Action{Verb: bundle.None, Why: "has already run"}},
		"JobFailed": {why: "what made it fail may be mended", object: init, live: end("Failed"), want: bundle.Action{Verb: bundle.Run, Why: "failed before", Replaces: "uid-init"}},
		"Once":      {why: "once is once, whatever became of it", object: job("init", "false", "run-policy=Once"), record: bundle.Record{Completed: []bundle.ID{id("Job init")}}, want: bundle.Action{Verb: bundle.None, Why: "has already run"}},
		"OnChange":  {why: "another content has not run", object: job("init", "false"), record: bundle.Record{Completed: []bundle.ID{run}}, want: bundle.Action{Verb: bundle.Run}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			item := order(t, tc.object)[0]
			p := draft(t, map[bundle.ID]bundle.Live{item.ID: tc.live}, func(in *bundle.Intent) { in.Record = tc.record }, tc.object)
			tc.want.ID, tc.want.Phase = item.ID, item.Phase
			assert.Equal(t, []bundle.Action{tc.want}, p.Actions, tc.why)
		})
	}
	_, err := bundle.NewPlan(bundle.Intent{Owner: owner, Sequence: order(t, object("Engine v8")), Live: map[bundle.ID]bundle.Live{id("Engine v8"): {NoAPI: true}}})
	assert.ErrorContains(t, err, "cannot plan Engine.race.example.org shop/v8: the cluster does not have this kind")
}

// What runs in every revision runs once in each, and its being planned again is none.
func TestNewPlanAlways(t *testing.T) {
	always := job("init", "true", "run-policy=Always")
	first := draft(t, nil, nil, always)
	record := proceed(t, bundle.Record{}, first)
	again := draft(t, nil, func(in *bundle.Intent) { in.Record = record }, always)
	assert.Equal(t, first.Sequence[0].ID, again.Sequence[0].ID, "the same content is no new revision")
	other := draft(t, nil, func(in *bundle.Intent) { in.Record = record }, always, object("Service web"))
	assert.NotEqual(t, first.Sequence[0].ID, other.Sequence[1].ID)
	assert.Equal(t, first.Sequence[0].Digest, other.Sequence[1].Digest)
}

// CONTENT.md X2: what runs on upgrades does not run in a first installation, once in each upgrade, and not again while the
// content is the same.
func TestNewPlanOnUpgrade(t *testing.T) {
	upgrade := job("migrate", "true", "run-policy=OnUpgrade")
	verb := func(p bundle.Plan) (bundle.Verb, string) {
		for _, a := range p.Actions {
			if a.ID.Kind == "Job" {
				return a.Verb, a.Why
			}
		}
		return "", ""
	}
	first := draft(t, nil, nil, upgrade)
	v, why := verb(first)
	assert.Equal(t, bundle.None, v)
	assert.Equal(t, "runs on upgrades", why)
	assert.Equal(t, bundle.Succeeded, bundle.Step(first, bundle.Record{}, nil, bundle.Pace{}).Outcome, "nothing waits for it")
	record := proceed(t, bundle.Record{}, first)
	again := draft(t, nil, func(in *bundle.Intent) { in.Record = record }, upgrade)
	assert.False(t, again.Changes(), "the same content is no upgrade")
	other := draft(t, nil, func(in *bundle.Intent) { in.Record = record }, upgrade, object("Service web"))
	v, _ = verb(other)
	assert.Equal(t, bundle.Run, v)
	record = proceed(t, record, other)
	third := draft(t, nil, func(in *bundle.Intent) { in.Record = record }, upgrade, object("Service web2"))
	v, _ = verb(third)
	assert.Equal(t, bundle.Run, v)
	assert.NotEqual(t, find(t, other.Sequence, "Job migrate").ID, find(t, third.Sequence, "Job migrate").ID, "each upgrade runs one of its own")
}

// proceed carries a record through the success of a plan.
func proceed(t *testing.T, r bundle.Record, p bundle.Plan) bundle.Record {
	t.Helper()
	r, err := r.Propose(p)
	require.NoError(t, err)
	r, err = r.Activate(p, time.Unix(0, 0))
	require.NoError(t, err)
	r, err = r.Succeed()
	require.NoError(t, err)
	return r
}

// BUNDLES.md 10: nothing that a Secret holds is in a plan.
func TestNewPlanHidesSecrets(t *testing.T) {
	secret := object("Secret key", map[string]any{"stringData": map[string]any{"password": "swordfish"}})
	live := is(secret, owner)
	live.Changes = []bundle.Change{
		{Path: "stringData.password", After: `"swordfish"`}, {Path: "data.password", Before: `"c3dvcmRmaXNo"`, After: `"c2FsbW9u"`},
		{Path: "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", Before: `{"data":"c3dvcmRmaXNo"}`},
		{Path: "type", Before: `"Opaque"`, After: `"x"`}, {Path: "metadata.annotations[" + bundle.DigestKey + "]", Before: "1", After: "2"},
	}
	p := draft(t, map[bundle.ID]bundle.Live{secret.ID(): live}, nil, secret)
	assert.Equal(t, []bundle.Change{
		{Path: "stringData.password", After: "(secret)"}, {Path: "data.password", Before: "(secret)", After: "(secret)"},
		{Path: "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]", Before: "(secret)"},
		{Path: "type", Before: `"Opaque"`, After: `"x"`},
	}, p.Actions[0].Changes)
	p.Sequence = nil // what is applied holds it, of course
	text, err := json.Marshal(p)
	require.NoError(t, err)
	assert.NotRegexp(t, "swordfish|c3dvcmRmaXNo|c2FsbW9u", string(text))
}

func TestNewPlanForesees(t *testing.T) {
	web := object("Deployment web")
	live := is(web, owner)
	restart := func(path string) bool {
		live.Changes = []bundle.Change{{Path: path, After: "1"}}
		return draft(t, map[bundle.ID]bundle.Live{web.ID(): live}, nil, web).Actions[0].Restarts
	}
	assert.True(t, restart("spec.template.spec.containers[name=web].image"))
	assert.False(t, restart("spec.templates"))
	assert.False(t, restart("spec.replicas"))
	live.Object["status"] = map[string]any{"replicas": int64(3)}
	live.Changes = []bundle.Change{{Path: "spec.template", After: "{}"}}
	assert.Equal(t, 3, draft(t, map[bundle.ID]bundle.Live{web.ID(): live}, nil, web).Actions[0].Pods)
	live.Object["spec"] = map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}}
	assert.False(t, restart("spec.template"), "its pods stay until somebody deletes them")

	p := draft(t, nil, nil, engine(), object("Engine v8"), object("Namespace shop"), web)
	assert.Equal(t, []bundle.Unverified{
		{ID: web.ID(), After: bundle.Namespaces, Why: "the bundle creates its namespace"},
		{ID: id("Engine v8"), After: bundle.CRDs, Why: "the bundle defines its kind"},
	}, p.Unverified)

	hook := object("ValidatingWebhookConfiguration guard", map[string]any{"webhooks": []any{map[string]any{"rules": []any{map[string]any{"apiGroups": []any{"batch"}}}}}})
	run := job("init", "true")
	want := []bundle.Unverified{{ID: order(t, run)[0].ID, After: bundle.Webhooks, Why: "webhook guard of the bundle may refuse it, and does not exist yet"}}
	assert.Equal(t, want, draft(t, nil, nil, hook, run, web).Unverified, "what is written before is not asked")
	assert.Empty(t, draft(t, map[bundle.ID]bundle.Live{hook.ID(): is(hook, owner)}, nil, hook, run).Unverified, "the dry run has asked it")

	role, binding := access("Role", "shop", "web", nil), binds("RoleBinding", "shop", "Role", "web")
	assert.Equal(t, []bundle.Unverified{{ID: binding.ID(), After: bundle.Roles, Why: "the bundle creates its role"}}, draft(t, nil, nil, role, binding).Unverified)
}

// BUNDLES.md 10: what is read of a plan has every field, and nothing of a Secret.
func TestPreview(t *testing.T) {
	secret := object("Secret key", map[string]any{"stringData": map[string]any{"password": "swordfish"}})
	live := is(secret, owner)
	live.Changes = []bundle.Change{{Path: "data.password", Before: `"c3dvcmRmaXNo"`, After: `"c2FsbW9u"`}}
	text, err := json.Marshal(draft(t, map[bundle.ID]bundle.Live{secret.ID(): live}, nil, secret).Preview())
	require.NoError(t, err)
	assert.NotRegexp(t, "swordfish|c3dvcmRmaXNo|c2FsbW9u|null", string(text))
	assert.Contains(t, string(text), `"actions":[{"group":"","kind":"Secret","namespace":"shop","name":"key","verb":"update","phase":"configuration","why":"","restarts":false,"pods":0,"takes":[],"changes":[{"path":"data.password","before":"(secret)","after":"(secret)","manager":""}]}]`)

	for pods, want := range map[int]string{0: "its pods restart", 1: "its pod restarts", 3: "its 3 pods restart"} {
		a := bundle.PreviewAction{Why: "why", Restarts: true, Pods: pods, Takes: []string{"spec.replicas"}}
		assert.Equal(t, []string{"why", want, "takes over spec.replicas"}, a.Remarks())
	}
}
