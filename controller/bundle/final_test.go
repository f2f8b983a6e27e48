package bundle_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// ending is a cluster in which each Job ends after one look, as its name says: fails-… fails.
type ending struct{ *cluster }

func (e ending) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen, err := e.cluster.Observe(ctx, look)
	for id, live := range seen.Live {
		if id.Kind != "Job" {
			continue
		}
		end := "Complete"
		if strings.HasPrefix(id.Name, "fails") {
			end = "Failed"
		}
		live.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": end, "status": "True"}}}
		seen.Live[id] = live
	}
	return seen, err
}

// withFinal returns a scene in which a ConfigMap and Jobs of an uninstallation are installed.
func withFinal(t *testing.T, jobs ...string) *scene {
	t.Helper()
	s := newScene(t)
	s.Cluster = ending{s.cluster}
	objects := []bundle.Object{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}}}
	for i, name := range jobs {
		notes := map[string]any{"orcon.tengu.io/run-policy": "OnUninstall"}
		if notes["orcon.tengu.io/after"] = "ConfigMap/a"; i > 0 {
			notes["orcon.tengu.io/after"] = "Job/" + jobs[i-1]
		}
		objects = append(objects, bundle.Object{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": name, "namespace": "shop", "annotations": notes},
		})
	}
	sequence, err := bundle.Order(objects)
	require.NoError(t, err)
	w := engine.Wish{Sequence: sequence}
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, s.Install(t.Context(), p, w))
	require.Equal(t, "ConfigMap/a", s.names(), "nothing of an uninstallation runs now")
	return s
}

// took notes after which writes and deletions what was there.
type took struct {
	ending

	log []string
}

func (k *took) Apply(ctx context.Context, writes []bundle.Write) ([]bundle.ID, map[bundle.ID]error) {
	for _, w := range writes {
		name, _, _ := strings.Cut(w.Object.ID().Name, "-")
		k.log = append(k.log, "run "+name)
	}
	return k.ending.Apply(ctx, writes)
}

func (k *took) Delete(ctx context.Context, deletions []bundle.Deletion) map[bundle.ID]error {
	for _, d := range deletions {
		name, _, _ := strings.Cut(d.ID.Name, "-")
		k.log = append(k.log, "delete "+name)
	}
	return k.ending.Delete(ctx, deletions)
}

// CONTENT.md X2: the Jobs of an uninstallation run one after the other before anything is deleted, and then they go too;
// at once or in steps.
func TestFinalJobs(t *testing.T) {
	for label, remove := range map[string]func(*scene) error{
		"AtOnce": func(s *scene) error {
			p, approval, err := s.uninstall(t.Context())
			require.NoError(t, err)
			var lines []string
			for _, a := range p.Actions {
				lines = append(lines, string(a.Verb)+" "+a.ID.Kind+" "+a.Why)
			}
			assert.Equal(t, []string{"run Job before anything is deleted", "run Job before anything is deleted", "delete ConfigMap "}, lines, "the plan shows them")
			return s.Uninstall(t.Context(), p, approval)
		},
		"InSteps": func(s *scene) error { return s.remove(t.Context()) },
	} {
		t.Run(label, func(t *testing.T) {
			s := withFinal(t, "first", "second")
			k := &took{ending: ending{s.cluster}}
			s.Cluster = k
			require.NoError(t, remove(s))
			require.Len(t, k.log, 5)
			assert.Equal(t, []string{"run first", "run second"}, k.log[:2])
			assert.Contains(t, k.log, "delete a")
			assert.Empty(t, s.names(), "nothing is left")
		})
	}
}

// A Job that fails keeps everything where it is, and says how to go on: it runs again once it is deleted, or is left out.
func TestFinalJobThatFails(t *testing.T) {
	s := withFinal(t, "fails")
	s.Timeout = time.Hour
	p, approval, err := s.uninstall(t.Context())
	require.NoError(t, err)
	err = s.Uninstall(t.Context(), p, approval)
	require.ErrorIs(t, err, engine.ErrFinalJob)
	require.NotErrorIs(t, err, engine.ErrTimeout, "it is known at once")
	require.ErrorContains(t, err, "the Job failed: see the logs of its pods: delete the Job to have it run again, or leave it out (orcon uninstall --skip-hook Job/fails")
	assert.Contains(t, s.names(), "ConfigMap/a")

	s.SkipJobs, err = bundle.ParseAfter("Job/fails")
	require.NoError(t, err)
	p, approval, err = s.uninstall(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Uninstall(t.Context(), p, approval))
	assert.Empty(t, s.names())
}

// An uninstallation that is given up runs its Jobs again when it is requested again.
func TestFinalJobsRunAgain(t *testing.T) {
	s := withFinal(t, "first")
	p, approval, err := s.uninstall(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.BeginRemoval(t.Context(), p, approval))
	for len(s.Record().Completed) == 0 {
		_, _, err = s.Remove(t.Context(), s.Record().Removing.Plan(s.Owner, s.Record()))
		require.NoError(t, err)
	}
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	assert.Empty(t, s.Record().Completed)
}

// A store that breaks at any request, and objects that go on without their deployment, run no Job twice or by mistake.
func TestFinalJobsAfterFaults(t *testing.T) {
	for at := range 12 {
		s := withFinal(t, "first")
		k := &took{ending: ending{s.cluster}}
		s.Cluster = k
		s.store.breaks = s.store.requests + at
		err := s.remove(t.Context())
		for range 5 {
			if err != nil {
				err = s.remove(t.Context())
			}
		}
		require.NoError(t, err, at)
		assert.Empty(t, s.names(), at)
		assert.Equal(t, 1, strings.Count(strings.Join(k.log, " "), "run first"), at)
	}
	s := withFinal(t, "first")
	k := &took{ending: ending{s.cluster}}
	s.Cluster = k
	_, _, err := s.Remove(t.Context(), bundle.Orphan(s.Owner, s.Record()))
	require.NoError(t, err)
	assert.NotContains(t, k.log, "run first")
}
