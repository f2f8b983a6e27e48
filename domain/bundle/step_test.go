package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// noon is when these tests take place.
func noon() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// applied makes an item of a sequence live as this deployment wrote it.
func applied(item bundle.Item, change func(*bundle.Live)) bundle.Live {
	l := is(item.Object, "", map[string]any{"annotations": map[string]any{bundle.OwnerKey: owner, bundle.DigestKey: item.Digest}})
	l.Health = bundle.Ready
	if change != nil {
		change(&l)
	}
	return l
}

// platform is an identity service, a Job that needs it, and a console after the Job.
func platform() []bundle.Object {
	return []bundle.Object{
		object("ConfigMap settings"), object("Service identity"), object("Deployment identity"),
		job("init", "curl http://identity:8080/users"), object("Deployment console", "after=Job/init"),
	}
}

func TestStep(t *testing.T) {
	type change = func(*bundle.Live)
	ready := func(*bundle.Live) {}
	says := func(health bundle.Health, text string, ago time.Duration) change {
		return func(l *bundle.Live) { l.Health, l.Says, l.Since = health, text, noon().Add(-ago) }
	}
	serving := func(l *bundle.Live) { l.Serving, l.Health = true, bundle.Ready }
	end := func(how string) change {
		return func(l *bundle.Live) {
			l.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": how, "status": "True"}}}
		}
	}
	all := map[string]change{"ConfigMap settings": ready, "Service identity": serving, "Deployment identity": ready, "Job init": end("Complete"), "Deployment console": ready}
	init := find(t, draft(t, nil, nil, platform()...).Sequence, "Job init").ID.Name
	tests := map[string]struct {
		why  string
		live map[string]change
		// apply are names, waits "name: for what", failures "name: why".
		apply, waits, failures []string
		outcome                bundle.Outcome
	}{
		"First": {
			why: "nothing is there: what nothing stands before is written", outcome: bundle.Progressing, apply: []string{"ConfigMap settings"},
			waits: []string{"Service identity: ConfigMap shop/settings (phase configuration)", "Deployment identity: ConfigMap shop/settings (phase configuration)", "Job init: ConfigMap shop/settings (phase configuration)", "Deployment console: ConfigMap shop/settings (phase configuration)"},
		},
		"NotServing": {
			why: "a Service need not answer before its pods are there", outcome: bundle.Progressing, apply: []string{"Deployment identity"},
			live:  map[string]change{"ConfigMap settings": ready, "Service identity": says(bundle.Ready, "no endpoint is ready", 0)},
			waits: []string{"Job init: Deployment shop/identity (phase workloads)", "Deployment console: Deployment shop/identity (phase workloads)"},
		},
		"Unhealthy": {
			why: "the phase is not healthy", outcome: bundle.Progressing,
			live:  map[string]change{"ConfigMap settings": ready, "Service identity": ready, "Deployment identity": says(bundle.InProgress, "0 of 1 available", time.Minute)},
			waits: []string{"Deployment identity: 0 of 1 available", "Job init: Deployment shop/identity (phase workloads)", "Deployment console: Deployment shop/identity (phase workloads)"},
		},
		"Silent": {
			why: "available pods, but the Service has no endpoint: the Job that names it would fail", outcome: bundle.Progressing,
			live:  map[string]change{"ConfigMap settings": ready, "Service identity": says(bundle.Ready, "no endpoint is ready", time.Minute), "Deployment identity": ready},
			waits: []string{"Job init: Service shop/identity to answer (the Job names it): no endpoint is ready", "Deployment console: Job shop/" + init + " (annotation orcon.tengu.io/after)"},
		},
		"Mute": {
			why: "it never answers", outcome: bundle.Failed,
			live:     map[string]change{"ConfigMap settings": ready, "Service identity": says(bundle.Ready, "no endpoint is ready", time.Hour), "Deployment identity": ready},
			waits:    []string{"Job init: Service shop/identity to answer (the Job names it): no endpoint is ready", "Deployment console: Job shop/" + init + " (annotation orcon.tengu.io/after)"},
			failures: []string{"Job init: no progress for 10m0s: Service shop/identity to answer (the Job names it): no endpoint is ready"},
		},
		"Run": {
			why: "the identity service answers: the Job runs", outcome: bundle.Progressing, apply: []string{"Job init"},
			live:  map[string]change{"ConfigMap settings": ready, "Service identity": serving, "Deployment identity": ready},
			waits: []string{"Deployment console: Job shop/" + init + " (annotation orcon.tengu.io/after)"},
		},
		"Running": {
			why: "a Job that runs is not ready, whatever its pods are", outcome: bundle.Progressing,
			live:  map[string]change{"ConfigMap settings": ready, "Service identity": serving, "Deployment identity": ready, "Job init": ready},
			waits: []string{"Job init: is running (0 of 1 completed)", "Deployment console: Job shop/" + init + " (annotation orcon.tengu.io/after)"},
		},
		"JobFailed": {
			why: "a failed Job is a failed phase", outcome: bundle.Failed,
			live:     map[string]change{"ConfigMap settings": ready, "Service identity": serving, "Deployment identity": ready, "Job init": end("Failed")},
			waits:    []string{"Deployment console: Job shop/" + init + " (annotation orcon.tengu.io/after)"},
			failures: []string{"Job init: the Job failed: see the logs of its pods"},
		},
		"Last": {
			why: "the Job has run", outcome: bundle.Progressing, apply: []string{"Deployment console"},
			live: map[string]change{"ConfigMap settings": ready, "Service identity": serving, "Deployment identity": ready, "Job init": end("Complete")},
		},
		"Done": {why: "all is healthy", outcome: bundle.Succeeded, live: all},
		"Deadline": {
			why: "ten minutes without progress", outcome: bundle.Failed,
			live:     but(all, "Deployment console", says(bundle.InProgress, "0 of 1 available", 10*time.Minute)),
			waits:    []string{"Deployment console: 0 of 1 available"},
			failures: []string{"Deployment console: no progress for 10m0s: 0 of 1 available"},
		},
		"Crash": {
			why: "it will not get better by itself", outcome: bundle.Failed,
			live:     but(all, "Deployment console", func(l *bundle.Live) { l.Health, l.Restarts, l.Says = bundle.InProgress, 5, "exit code 1" }),
			failures: []string{"Deployment console: a container keeps crashing (5 times so far): exit code 1"},
		},
		"Failing": {
			why: "a failure that may pass is shown, and ends nothing (CONTENT.md H5)", outcome: bundle.Progressing,
			live:  but(all, "Deployment console", says(bundle.Failing, "quota exceeded", time.Minute)),
			waits: []string{"Deployment console: quota exceeded"},
		},
		"Unknown": {
			why: "nothing is known of it, and there is time (CONTENT.md H5)", outcome: bundle.Progressing,
			live:  but(all, "Deployment console", says(bundle.Unknown, "reports nothing", 9*time.Minute)),
			waits: []string{"Deployment console: reports nothing"},
		},
		"Assumed": {
			why: "time is up, and nothing speaks against it (CONTENT.md H5)", outcome: bundle.Succeeded,
			live: but(all, "Deployment console", says(bundle.Unknown, "reports nothing", 10*time.Minute)),
		},
		"Broken": {why: "it will not become healthy", outcome: bundle.Failed, live: but(all, "Deployment console", says(bundle.Broken, "quota exceeded", 0)), failures: []string{"Deployment console: quota exceeded"}},
		"Drift": {why: "an edit is put right", outcome: bundle.Progressing, apply: []string{"Deployment console"}, live: but(all, "Deployment console", func(l *bundle.Live) {
			l.Changes = []bundle.Change{{Path: "spec.paused", Manager: "kubectl", Ours: true}}
		})},
		"Leaving": {why: "what is being deleted comes again when it is gone", outcome: bundle.Progressing, waits: []string{"Deployment console: is being deleted and waits for finalizers keep"}, live: but(all, "Deployment console", func(l *bundle.Live) {
			m := l.Object["metadata"].(map[string]any)
			m["deletionTimestamp"], m["finalizers"] = "x", []any{"keep"}
		})},
		"Stranger": {why: "somebody has made it since the plan", outcome: bundle.Failed, live: but(all, "Deployment console", func(l *bundle.Live) { *l = is(object("Deployment console"), "") }), failures: []string{"Deployment console: it already exists and is not managed by Orcon, which the plan did not expect: plan again"}},
	}
	plan := draft(t, nil, nil, platform()...)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			live := map[bundle.ID]bundle.Live{}
			for named, change := range tc.live {
				item := find(t, plan.Sequence, named)
				live[item.ID] = applied(item, change)
			}
			next := bundle.Step(plan, bundle.Record{}, live, bundle.Pace{Now: noon()})
			var apply, waits, failures []string
			origin := map[bundle.ID]string{}
			for _, item := range plan.Sequence {
				origin[item.ID] = item.Origin.Kind + " " + item.Origin.Name
			}
			for _, w := range next.Apply {
				apply = append(apply, origin[w.Object.ID()])
			}
			for _, w := range next.Waits {
				waits = append(waits, origin[w.ID]+": "+w.For)
			}
			for _, f := range next.Failures {
				failures = append(failures, origin[f.ID]+": "+f.Why)
			}
			assert.Equal(t, tc.outcome, next.Outcome, tc.why)
			assert.Equal(t, tc.apply, apply, tc.why)
			assert.Equal(t, tc.waits, waits, tc.why)
			assert.Equal(t, tc.failures, failures, tc.why)
			assert.Equal(t, 5, next.All)
		})
	}
}

// but returns a copy of a map with another value of one key.
func but[V any](all map[string]V, key string, value V) map[string]V {
	other := map[string]V{key: value}
	for k, v := range all {
		if k != key {
			other[k] = v
		}
	}
	return other
}

// What is there is written at its version, what is not is created, and what cannot be
// changed goes first, if it is still that one (BUNDLES.md 2).
func TestStepWrites(t *testing.T) {
	web := object("Deployment web")
	step := func(l bundle.Live, policy bundle.ConflictPolicy) bundle.Next {
		live := map[bundle.ID]bundle.Live{web.ID(): l}
		p := draft(t, live, func(in *bundle.Intent) { in.Conflicts = policy }, web)
		return bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon()})
	}
	item := order(t, web)[0]
	marked := applied(item, nil).Object.At("metadata", "annotations")

	created := step(bundle.Live{}, "").Apply
	require.Len(t, created, 1)
	assert.Empty(t, created[0].ResourceVersion)
	assert.Equal(t, marked, created[0].Object.At("metadata", "annotations"))
	assert.Nil(t, web.At("metadata", "annotations"), "what was given is left as it was")

	theirs := is(web, "")
	theirs.Changes = []bundle.Change{{Path: "spec.replicas", Manager: "kubectl"}}
	assert.Equal(t, []bundle.Write{{Object: created[0].Object, ResourceVersion: "7", Force: []string{"spec.replicas"}, Adopts: true}}, step(theirs, bundle.TakeAll).Apply)

	adopted := draft(t, map[bundle.ID]bundle.Live{web.ID(): is(web, "")}, func(in *bundle.Intent) { in.Conflicts = bundle.AdoptUnowned }, web)
	taken := map[bundle.ID]bundle.Live{web.ID(): is(web, "shop/other")}
	assert.Equal(t, bundle.Failed, bundle.Step(adopted, bundle.Record{}, taken, bundle.Pace{Now: noon()}).Outcome, "it is another's by now (BUNDLES.md 5)")

	old := is(web, owner)
	old.Immutable = "spec.selector: field is immutable"
	next := step(old, "")
	assert.Equal(t, []bundle.Deletion{{ID: web.ID(), UID: "uid-web", ResourceVersion: "7"}}, next.Delete)
	assert.Empty(t, next.Apply, "it is made anew when it is gone")

	drifted := applied(item, func(l *bundle.Live) {
		l.Changes = []bundle.Change{{Path: "spec.paused", Manager: "kubectl", Ours: true}, {Path: "spec.replicas", Manager: "kubectl"}}
	})
	p := draft(t, nil, nil, web)
	next = bundle.Step(p, bundle.Record{}, map[bundle.ID]bundle.Live{web.ID(): drifted}, bundle.Pace{Now: noon()})
	assert.Equal(t, []string{"spec.paused"}, next.Apply[0].Force, "never a field that was not its own (BUNDLES.md 2)")
}

// A Job whose completion is recorded is neither run again nor missed when it is gone.
func TestStepJobs(t *testing.T) {
	p := draft(t, nil, nil, job("init", "true"))
	item := p.Sequence[0]
	step := func(p bundle.Plan, r bundle.Record, l bundle.Live) bundle.Next {
		return bundle.Step(p, r, map[bundle.ID]bundle.Live{item.ID: l}, bundle.Pace{Now: noon()})
	}
	condition := func(how string) bundle.Live {
		return applied(item, func(l *bundle.Live) {
			l.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": how, "status": "True"}}}
		})
	}
	next := step(p, bundle.Record{}, condition("Complete"))
	assert.Equal(t, bundle.Succeeded, next.Outcome)
	record := bundle.Record{}.Complete(next.Completed...)
	next = step(p, record, bundle.Live{})
	assert.Equal(t, bundle.Succeeded, next.Outcome)
	assert.Empty(t, next.Apply)

	active := must(t)(must(t)(bundle.Record{}.Propose(p)).Activate(p, time.Unix(0, 0)))
	next = bundle.Step(draft(t, nil, nil), active, map[bundle.ID]bundle.Live{item.ID: condition("Complete")}, bundle.Pace{Now: noon()})
	assert.Equal(t, []bundle.ID{item.ID}, next.Completed, "it ran for a revision that has failed, and is not run again by the next (BUNDLES.md 6)")

	live := condition("Failed")
	again := draft(t, map[bundle.ID]bundle.Live{item.ID: live}, nil, job("init", "true"))
	next = step(again, bundle.Record{}, live)
	assert.Equal(t, "uid-"+item.ID.Name, next.Delete[0].UID, "what failed before the plan makes room")
	assert.Len(t, step(again, bundle.Record{}, bundle.Live{}).Apply, 1)
	live.Object["metadata"].(map[string]any)["uid"] = "another"
	assert.Equal(t, bundle.Failed, step(again, bundle.Record{}, live).Outcome, "what fails after it does not")
}

// What others have changed is put right at once, whatever else is unhealthy (BUNDLES.md 12).
func TestCorrect(t *testing.T) {
	p := draft(t, nil, nil, object("ConfigMap settings"), object("Deployment web"), object("Ingress door"), job("init", "true"))
	live := map[bundle.ID]bundle.Live{
		id("ConfigMap settings"): applied(find(t, p.Sequence, "ConfigMap settings"), func(l *bundle.Live) {
			l.Changes = []bundle.Change{{Path: "data.a", Before: "1", After: "2", Manager: "kubectl", Ours: true}}
		}),
		id("Deployment web"): applied(find(t, p.Sequence, "Deployment web"), func(l *bundle.Live) { l.Health, l.Says = bundle.Broken, "it crashes" }),
	}
	record := bundle.Record{}.Complete(find(t, p.Sequence, "Job init").ID)
	next := bundle.Correct(p, record, live, bundle.Pace{Now: noon()})
	require.Len(t, next.Apply, 2, "the Job has run")
	assert.Equal(t, []string{"data.a"}, next.Apply[0].Force, "a field that was ours comes back")
	assert.Equal(t, "door", next.Apply[1].Object.ID().Name, "and what was deleted, of a later phase than what is unhealthy")
	require.Len(t, next.Failures, 1)
	assert.Contains(t, next.Failures[0].Why, "it crashes")
	assert.Equal(t, bundle.Progressing, next.Outcome, "no reason to go back")
}
