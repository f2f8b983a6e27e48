package bundle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// inventory remembers objects as if they had been applied.
func inventory(t *testing.T, objects ...bundle.Object) (bundle.Record, map[bundle.ID]bundle.Live) {
	t.Helper()
	r := proceed(t, bundle.Record{}, draft(t, nil, nil, objects...))
	live := map[bundle.ID]bundle.Live{}
	for _, item := range order(t, objects...) {
		live[item.ID] = is(item.Object, owner)
	}
	return r, live
}

// BUNDLES.md 4: an empty result, too many deletions, and what cannot be had back wait
// for a person.
func TestNewPlanHolds(t *testing.T) {
	web, db := object("Deployment web"), object("Service db")
	stateful := object("StatefulSet cache", map[string]any{"spec": map[string]any{"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}}}}})
	immutable := func(l bundle.Live) bundle.Live {
		l.Immutable = "spec: Forbidden: updates to statefulset spec"
		return l
	}
	tests := map[string]struct {
		why    string
		before []bundle.Object
		after  []bundle.Object
		change func(*bundle.Intent)
		said   []string
		want   []bundle.Hold
	}{
		"Empty":     {why: "a broken source is no wish", before: []bundle.Object{web}, said: []string{"delete Deployment web"}, want: []bundle.Hold{{bundle.Empty, []bundle.ID{web.ID()}}}},
		"Uninstall": {why: "nothing is wished", before: []bundle.Object{web}, change: func(in *bundle.Intent) { in.Uninstall = true }, said: []string{"delete Deployment web"}},
		"Few":       {why: "an ordinary change", before: []bundle.Object{web, db}, after: []bundle.Object{web}, said: []string{"update Deployment web", "delete Service db"}},
		"Many": {
			why: "a wrong overlay is no wish", before: []bundle.Object{web, db, object("Secret s")}, after: []bundle.Object{web}, change: func(in *bundle.Intent) { in.MaxDeletions = 1 },
			said: []string{"update Deployment web", "delete Service db", "delete Secret s"}, want: []bundle.Hold{{bundle.TooMany, []bundle.ID{db.ID(), id("Secret s")}}},
		},
		"Costly": {
			why: "with it goes what is in it", before: []bundle.Object{web, object("Namespace n"), object("PersistentVolumeClaim c"), engine()}, after: []bundle.Object{web},
			said: []string{"update Deployment web", "delete PersistentVolumeClaim c", "delete Namespace n", "delete CustomResourceDefinition engines.race.example.org"},
			want: []bundle.Hold{{bundle.Confirm, []bundle.ID{id("PersistentVolumeClaim c"), id("Namespace n"), engine().ID()}}},
		},
		"CostlyAll": {
			why: "also where all shall go", before: []bundle.Object{object("Namespace n")}, change: func(in *bundle.Intent) { in.Uninstall = true },
			said: []string{"delete Namespace n"}, want: []bundle.Hold{{bundle.Confirm, []bundle.ID{id("Namespace n")}}},
		},
		"None": {
			why: "not one without a person", before: []bundle.Object{web, db}, after: []bundle.Object{web}, change: func(in *bundle.Intent) { in.MaxDeletions = -1 },
			said: []string{"update Deployment web", "delete Service db"}, want: []bundle.Hold{{bundle.TooMany, []bundle.ID{db.ID()}}},
		},
		"Asked":     {why: "the deployment asks for it", before: []bundle.Object{web, db}, after: []bundle.Object{web}, change: func(in *bundle.Intent) { in.ConfirmKinds = []string{"Service"} }, said: []string{"update Deployment web", "delete Service db"}, want: []bundle.Hold{{bundle.Confirm, []bundle.ID{db.ID()}}}},
		"Annotated": {why: "the object asks for it", before: []bundle.Object{web, object("Service db", "prune=Confirm")}, after: []bundle.Object{web}, said: []string{"update Deployment web", "delete Service db"}, want: []bundle.Hold{{bundle.Confirm, []bundle.ID{db.ID()}}}},
		"Claims": {
			why: "its pods stop, and a changed claim reaches no claim that there is", before: []bundle.Object{stateful}, after: []bundle.Object{stateful},
			change: func(in *bundle.Intent) { in.Live[stateful.ID()] = immutable(in.Live[stateful.ID()]) },
			said:   []string{"recreate StatefulSet cache"}, want: []bundle.Hold{{bundle.Claims, []bundle.ID{stateful.ID()}}},
		},
		"ClaimsBack": {
			why: "a way back waits for nobody", before: []bundle.Object{stateful}, after: []bundle.Object{stateful},
			change: func(in *bundle.Intent) { in.Live[stateful.ID()], in.Back = immutable(in.Live[stateful.ID()]), 1 },
			said:   []string{"recreate StatefulSet cache"},
		},
		"ManyBack": {
			why: "what failed has made it", before: []bundle.Object{web, db}, after: []bundle.Object{web},
			change: func(in *bundle.Intent) { in.MaxDeletions, in.Back = -1, 1 }, said: []string{"update Deployment web", "delete Service db"},
		},
		"EmptyBack": {
			why: "nothing was healthy too", before: []bundle.Object{web}, change: func(in *bundle.Intent) { in.Back = 1 },
			said: []string{"delete Deployment web"},
		},
		"NoClaims": {
			why: "nothing is kept", before: []bundle.Object{object("StatefulSet cache")}, after: []bundle.Object{object("StatefulSet cache")},
			change: func(in *bundle.Intent) { in.Live[stateful.ID()] = immutable(in.Live[stateful.ID()]) },
			said:   []string{"recreate StatefulSet cache"},
		},
		"Never": {why: "it is let go", before: []bundle.Object{web, object("Service db", "prune=Never")}, after: []bundle.Object{web}, said: []string{"update Deployment web", "keep Service db"}},
		"Job":   {why: "a Job with other content has not left", before: []bundle.Object{job("init", "true")}, after: []bundle.Object{job("init", "false")}, change: func(in *bundle.Intent) { in.MaxDeletions = -1 }, said: []string{"run Job " + order(t, job("init", "false"))[0].ID.Name, "delete Job " + order(t, job("init", "true"))[0].ID.Name}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			record, live := inventory(t, tc.before...)
			p := draft(t, live, func(in *bundle.Intent) {
				in.Record = record
				if tc.change != nil {
					tc.change(in)
				}
			}, tc.after...)
			assert.Equal(t, tc.said, said(p), tc.why)
			require.Equal(t, tc.want, p.Holds, tc.why)
			for _, h := range tc.want {
				assert.Contains(t, h.String(), h.Objects[0].String())
				require.Error(t, bundle.Approve(p, bundle.Gate{}, nil), tc.why)
				require.ErrorContains(t, p.Confirmed(bundle.Approval{}), h.Words()+". To confirm, add: "+strings.Join(h.Flags(), " "), tc.why)
				approval := bundle.Approval{PlanDigest: p.Digest, Confirmed: h.Objects}
				require.NoError(t, bundle.Approve(p, bundle.Gate{}, []bundle.Approval{approval}), tc.why)
				require.NoError(t, p.Confirmed(approval), tc.why)
			}
		})
	}
	t.Run("Gone", func(t *testing.T) {
		record, live := inventory(t, web, db)
		live[db.ID()] = is(db, "shop/other")
		p := draft(t, live, func(in *bundle.Intent) { in.Record = record }, web)
		assert.Equal(t, []string{"update Deployment web"}, said(p), "what is another's by now is not deleted")
	})
}
