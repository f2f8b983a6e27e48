package jobs

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS-DESIGN.md 13: a keeper's token is good for the Run that its pod carries out.
func TestIdentify(t *testing.T) {
	template, w, r, p := shop(t)
	world := newWorld(t, template, w, r, p)
	world.reviews["t"] = good(p.Name)
	callers := NewCallers(world.objects(), world)
	want := serve.Caller{
		Workspace: "w-uid", Run: workspace.Run{UID: "r-uid", Name: "network-7"},
		Claimant: workspace.Claimant{ID: "p-uid", Where: "node"},
	}
	for range 3 {
		got, err := identify(t, callers, "Bearer t")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, 1, world.reviewed, "a token that was good a moment ago is not reviewed again")
}

// TRUST.md U3: a flood of tokens from one address costs the API server few reviews, and no keeper at another address waits.
func TestStrangersCostLittle(t *testing.T) {
	template, w, r, p := shop(t)
	world := newWorld(t, template, w, r, p)
	world.reviews["t"] = good(p.Name)
	callers := NewCallers(world.objects(), world)
	from := func(address, token string) error {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.RemoteAddr = address + ":4711"
		request.Header.Set("Authorization", "Bearer "+token)
		_, err := callers.Identify(request)
		return err
	}
	for range 20 {
		require.ErrorIs(t, from("10.0.0.1", "x"), serve.ErrForbidden)
	}
	assert.Equal(t, 1, world.reviewed, "a refused token is not reviewed again at once")
	for i := range 1000 {
		require.Error(t, from("10.0.0.1", fmt.Sprint("x", i)))
	}
	assert.Less(t, world.reviewed, 2*reviewBurst)
	require.ErrorIs(t, from("10.0.0.1", "t"), errFlood)
	require.NoError(t, from("10.0.0.2", "t"))
	require.NoError(t, from("10.0.0.1", "t"), "a token that is known")
}

// JOBS-DESIGN.md 13: every other token is good for nothing.
func TestForbidden(t *testing.T) {
	for label, c := range map[string]struct {
		header string
		says   string
		change func(w *world, review *authenticationv1.TokenReviewStatus)
	}{
		"NoToken":       {header: "Basic t", says: "no bearer token"},
		"Empty":         {header: "Bearer ", says: "no bearer token"},
		"Long":          {header: "Bearer " + strings.Repeat("t", 9<<10), says: "too long"},
		"Unknown":       {header: "Bearer x", says: "not for audience jobs.tengu.io"},
		"Refused":       {says: "expired", change: func(_ *world, s *authenticationv1.TokenReviewStatus) { s.Authenticated, s.Error = false, "expired" }},
		"OtherAudience": {says: "not for audience", change: func(_ *world, s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"relations.tengu.io"} }},
		"Person":        {says: "bound to no pod", change: func(_ *world, s *authenticationv1.TokenReviewStatus) { s.User.Username = "shop:eve" }},
		"NoPod":         {says: "bound to no pod", change: func(_ *world, s *authenticationv1.TokenReviewStatus) { s.User.Extra = nil }},
		"PodGone": {says: "not found", change: func(_ *world, s *authenticationv1.TokenReviewStatus) {
			s.User.Extra["authentication.kubernetes.io/pod-name"] = []string{"x"}
		}},
		"PodReplaced": {says: "another one has its name", change: func(_ *world, s *authenticationv1.TokenReviewStatus) {
			s.User.Extra["authentication.kubernetes.io/pod-uid"] = []string{"x"}
		}},
		"OtherSpace": {says: "not found", change: func(_ *world, s *authenticationv1.TokenReviewStatus) {
			s.User.Username = "system:serviceaccount:other:default"
		}},
	} {
		t.Run(label, func(t *testing.T) {
			template, w, r, p := shop(t)
			world := newWorld(t, template, w, r, p)
			review := good(p.Name)
			if c.change != nil {
				c.change(world, &review)
				c.header = "Bearer t"
			}
			world.reviews["t"] = review
			_, err := identify(t, NewCallers(world.objects(), world), c.header)
			require.ErrorIs(t, err, serve.ErrForbidden)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// A pod that is not that of a Run, or of one that is gone, is nobody's keeper.
func TestStrangePods(t *testing.T) {
	for label, c := range map[string]struct{ run, uid, says string }{
		"NoLabel":  {says: "label job.orcon.tengu.io/run is missing"},
		"Gone":     {run: "network-8", uid: "r-uid", says: "not found"},
		"Replaced": {run: "network-7", uid: "older", says: "its JobRun has gone"},
	} {
		t.Run(label, func(t *testing.T) {
			template, w, r, p := shop(t)
			p.Labels = map[string]string{v1alpha1.LabelRun: c.run, v1alpha1.LabelRunUID: c.uid}
			world := newWorld(t, template, w, r, p)
			world.reviews["t"] = good(p.Name)
			_, err := identify(t, NewCallers(world.objects(), world), "Bearer t")
			require.ErrorIs(t, err, serve.ErrForbidden)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

// An API server that does not answer forbids nothing: the keeper tries again.
func TestIdentifyLater(t *testing.T) {
	template, w, r, p := shop(t)
	world := newWorld(t, template, w, r, p)
	world.reviews["t"] = good(p.Name)
	callers := NewCallers(Objects{Cache: newWorld(t), Live: world}, world)
	world.fault = errors.New("down")
	for good := range 4 { // the review, the pod, the JobRun, the JobWorkspace
		world.good = good
		_, err := identify(t, callers, "Bearer t")
		require.ErrorIs(t, err, world.fault, good)
		require.NotErrorIs(t, err, serve.ErrForbidden, good)
	}
	world.good = 4
	_, err := identify(t, callers, "Bearer t")
	require.NoError(t, err)
}

// What the cache has of the JobRun and the JobWorkspace is not read again; what it has of earlier ones does not count.
func TestIdentifyByTheCache(t *testing.T) {
	template, w, r, p := shop(t)
	want := serve.Caller{
		Workspace: "w-uid", Run: workspace.Run{UID: "r-uid", Name: "network-7"},
		Claimant: workspace.Claimant{ID: "p-uid", Where: "node"},
	}
	earlier, of := w.DeepCopy(), r.DeepCopy()
	earlier.UID, of.UID = "earlier", "earlier-run"
	for label, c := range map[string]struct {
		cached, live []client.Object
	}{
		"Same":             {cached: []client.Object{template, w, r}, live: []client.Object{p}},
		"Neither":          {live: []client.Object{w, r, p}},
		"EarlierWorkspace": {cached: []client.Object{earlier, r}, live: []client.Object{w, p}},
		"EarlierRun":       {cached: []client.Object{w, of}, live: []client.Object{r, p}},
	} {
		t.Run(label, func(t *testing.T) {
			live := newWorld(t, c.live...)
			live.reviews["t"] = good(p.Name)
			got, err := identify(t, NewCallers(Objects{Cache: newWorld(t, c.cached...), Live: live}, live), "Bearer t")
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}
