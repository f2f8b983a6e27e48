package commits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// inhabited returns the shop with the pods of db's units 1 and 2, and one that is gone.
func inhabited(t *testing.T) (*kubetest.Strict, *Statuses, *events.FakeRecorder) {
	t.Helper()
	server := kubetest.Shop()
	recorder := events.NewFakeRecorder(8)
	app := stored(t, server)
	app.State.Units = []v1alpha1.Unit{{Number: 0, Pod: "db-a", PodUID: "pod-0", DepartureReason: "replaced"}, {Number: 1, Pod: "db-b", PodUID: "pod-1"}, {Number: 2, Pod: "db-c", PodUID: "pod-2"}}
	server.Keep(app)
	return server, &Statuses{Reader: server, Writer: server, Now: kubetest.Epoch, Events: recorder}, recorder
}

func stored(t *testing.T, server *kubetest.Strict) *v1alpha1.RelatedApplication {
	t.Helper()
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(app), app))
	return app
}

// reportOf returns the report of a unit; the zero value if there is none.
func reportOf(app *v1alpha1.RelatedApplication, unit int64) v1alpha1.Report {
	for _, r := range app.Status.Reports {
		if r.Unit == unit {
			return r
		}
	}
	return v1alpha1.Report{}
}

func pod(uid string, term int) status.Reporter {
	return status.Reporter{Namespace: "shop", Application: "db", PodUID: uid, Term: term}
}

// A failure is stored with the unit, bounded, with the time of the first. One Event on the pod reports it, and
// another only a different failure (RELATIONS.md L3).
func TestReport(t *testing.T) {
	server, statuses, recorder := inhabited(t)
	failure := status.Failure{Event: "main-relation-changed (web)", Relation: "r-1", Attempts: 1, Said: "exit code 4:\nno room"}
	require.NoError(t, statuses.Report(t.Context(), pod("pod-2", 0), failure))
	want := failure
	want.Said, want.Since = "exit code 4: no room", kubetest.Epoch()
	assert.Equal(t, want, convert.ToFailure(reportOf(stored(t, server), 2).Failure))
	assert.Nil(t, reportOf(stored(t, server), 1).Failure)
	assert.Equal(t, []string{"Warning HandlerFailed " + want.Text("shop", "db/2", "db-c")}, kubetest.Recorded(recorder))

	t.Log("again")
	statuses.Now = func() time.Time { return kubetest.Epoch().Add(time.Hour) }
	failure.Attempts = 2
	require.NoError(t, statuses.Report(t.Context(), pod("pod-2", 0), failure))
	assert.EqualValues(t, 2, reportOf(stored(t, server), 2).Failure.Attempts)
	assert.Equal(t, kubetest.Epoch(), reportOf(stored(t, server), 2).Failure.StartTime.UTC())
	assert.Empty(t, kubetest.Recorded(recorder), "that it failed again is no news")
	writes := server.Writes
	require.NoError(t, statuses.Report(t.Context(), pod("pod-2", 0), failure))
	assert.Equal(t, writes, server.Writes, "RELATIONS.md P3")

	t.Log("it succeeds")
	require.NoError(t, statuses.Report(t.Context(), pod("pod-2", 0), status.Failure{}))
	assert.Nil(t, reportOf(stored(t, server), 2).Failure)
	assert.Empty(t, kubetest.Recorded(recorder))
	writes = server.Writes
	require.NoError(t, statuses.Report(t.Context(), pod("pod-2", 0), status.Failure{}))
	assert.Equal(t, writes, server.Writes)

	for _, uid := range []string{"pod-0", "pod-9"} {
		require.ErrorIs(t, statuses.Report(t.Context(), pod(uid, 0), failure), status.ErrGone)
	}
}

// What handlers wait for is an Event on the pod. It is not a failure: nothing stored changes.
func TestReportWaiting(t *testing.T) {
	server, statuses, recorder := inhabited(t)
	writes := server.Writes
	require.NoError(t, statuses.ReportWaiting(t.Context(), pod("pod-2", 0), "waiting for port 8080\x1b"))
	assert.Equal(t, []string{"Normal HandlerWaiting waiting for port 8080"}, kubetest.Recorded(recorder))
	assert.Equal(t, writes, server.Writes)
	require.ErrorIs(t, statuses.ReportWaiting(t.Context(), pod("pod-9", 0), "waiting"), status.ErrGone)
	assert.Empty(t, kubetest.Recorded(recorder))
}

// Any unit sets its own status, and the leader, in its term, the status of the application. A unit that does not
// lead writes nothing (SAFETY.md P1, RELATIONS.md P1).
func TestSetStatus(t *testing.T) {
	server, statuses, _ := inhabited(t)
	busy, serving := status.Info{State: status.Maintenance, Message: "migrating"}, status.Info{State: status.Active}
	require.NoError(t, statuses.SetStatus(t.Context(), pod("pod-2", 0), false, busy))
	require.NoError(t, statuses.SetStatus(t.Context(), pod("pod-1", 3), true, serving))
	app := stored(t, server)
	assert.True(t, convert.ToStatus(reportOf(app, 2).Workload).Same(busy))
	assert.Equal(t, kubetest.Epoch(), reportOf(app, 2).Workload.ReportTime.UTC())
	assert.True(t, convert.ToStatus(app.Status.Workload).Same(serving))

	writes := server.Writes
	statuses.Now = func() time.Time { return kubetest.Epoch().Add(time.Second) }
	require.NoError(t, statuses.SetStatus(t.Context(), pod("pod-2", 0), false, busy))
	require.NoError(t, statuses.SetStatus(t.Context(), pod("pod-1", 3), true, serving))
	assert.Equal(t, writes, server.Writes, "what was said already is not stored again")
	for why, by := range map[string]status.Reporter{"another pod": pod("pod-2", 3), "an old term": pod("pod-1", 2), "no term": pod("pod-1", 0)} {
		require.ErrorIs(t, statuses.SetStatus(t.Context(), by, true, busy), transaction.ErrDeposed, why)
	}
	statuses.Now = func() time.Time { return kubetest.Epoch().Add(51 * time.Second) }
	require.ErrorIs(t, statuses.SetStatus(t.Context(), pod("pod-1", 3), true, busy), transaction.ErrDeposed, "9 s are not enough")
	require.ErrorIs(t, statuses.SetStatus(t.Context(), pod("pod-0", 0), false, busy), status.ErrGone)
	assert.Equal(t, writes, server.Writes)
}

// A leader sets the status of its side of a relation. An earlier leader does not overwrite a later one
// (RELATIONS.md L3, SAFETY.md P1).
func TestSetSide(t *testing.T) {
	server, statuses, _ := inhabited(t)
	r := object.Named(&v1alpha1.Relation{}, "shop", "web-db")
	r.UID, r.ResourceVersion = "uid-r", "7"
	server.Keep(r)
	side := relation.SideRef{Namespace: "shop", Name: "web-db", UID: "uid-r", Role: application.Provider}
	blocked := status.Info{State: status.Blocked, Message: "no database", Code: "NoDatabase", Resolution: "ask for a"}
	require.NoError(t, statuses.SetSide(t.Context(), pod("pod-1", 3), side, blocked))
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	assert.True(t, convert.ToSideStatus(r.Status.ProviderStatus).Same(blocked))
	assert.Nil(t, r.Status.RequirerStatus)
	assert.EqualValues(t, 3, r.Status.ProviderStatus.Term)

	writes := server.Writes
	require.NoError(t, statuses.SetSide(t.Context(), pod("pod-1", 3), side, blocked))
	require.ErrorIs(t, statuses.SetSide(t.Context(), pod("pod-2", 3), side, blocked), transaction.ErrDeposed)
	require.ErrorIs(t, statuses.SetSide(t.Context(), pod("pod-1", 3), relation.SideRef{Namespace: "shop", Name: "web-db", UID: "another", Role: application.Provider}, blocked), status.ErrGone)
	require.ErrorIs(t, statuses.SetSide(t.Context(), pod("pod-1", 3), relation.SideRef{Namespace: "shop", Name: "none", UID: "uid-r"}, blocked), status.ErrGone)
	r.Status.ProviderStatus.Term = 4
	server.Keep(r)
	require.ErrorIs(t, statuses.SetSide(t.Context(), pod("pod-1", 3), side, status.Info{State: status.Active}), transaction.ErrDeposed, "another has led since")
	assert.Equal(t, writes+1, server.Writes, "the term is counted, and nothing else is written")
	assert.EqualValues(t, 5, stored(t, server).State.LastTerm)
	side.Role = application.Peer
	require.NoError(t, statuses.SetSide(t.Context(), pod("pod-1", 3), side, blocked))
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	assert.True(t, convert.ToSideStatus(r.Status.RequirerStatus).Same(blocked), "the one side of a peer relation")
}

// A unit reads its own status; the leader alone reads all of its application.
func TestStatus(t *testing.T) {
	_, statuses, _ := inhabited(t)
	state, err := statuses.Status(t.Context(), pod("pod-2", 0), false)
	require.NoError(t, err)
	assert.Len(t, state.Units, 3)
	_, err = statuses.Status(t.Context(), pod("pod-2", 0), true)
	require.ErrorIs(t, err, transaction.ErrDeposed)
	_, err = statuses.Status(t.Context(), pod("pod-1", 0), true)
	require.NoError(t, err)
}

// That the writes of a unit are limited is stored once in a minute, or when it is another budget (TRUST.md U1).
func TestReportShortage(t *testing.T) {
	server, statuses, _ := inhabited(t)
	now := kubetest.Epoch()
	statuses.Now = func() time.Time { return now }
	report := func(short budget.Level, after time.Duration) (version string) {
		now = now.Add(after)
		require.NoError(t, statuses.ReportShortage(t.Context(), pod("pod-2", 0), short))
		return stored(t, server).ResourceVersion
	}
	first := report(budget.Unit, 0)
	assert.Equal(t, v1alpha1.Budget("Unit"), reportOf(stored(t, server), 2).Shortage.Budget)
	assert.Equal(t, first, report(budget.Unit, 59*time.Second), "not again")
	assert.NotEqual(t, first, report(budget.Unit, time.Second))
	second := report(budget.Namespace, time.Second)
	assert.Equal(t, v1alpha1.Budget("Namespace"), reportOf(stored(t, server), 2).Shortage.Budget)
	assert.Equal(t, second, report(budget.Namespace, time.Second))
	require.ErrorIs(t, statuses.ReportShortage(t.Context(), pod("pod-0", 0), budget.Unit), status.ErrGone)
}

// Files that an agent cannot write are stored once in a minute, cut to the size of their field (TRUST.md U2).
func TestReportUnwritten(t *testing.T) {
	server, statuses, _ := inhabited(t)
	now := kubetest.Epoch()
	statuses.Now = func() time.Time { return now }
	report := func(text string, after time.Duration) *v1alpha1.Unwritten {
		now = now.Add(after)
		require.NoError(t, statuses.ReportUnwritten(t.Context(), pod("pod-2", 0), text))
		return reportOf(stored(t, server), 2).Unwritten
	}
	assert.Equal(t, "cannot write bindings db", report("cannot write bindings db", 0).Message)
	assert.Equal(t, "cannot write bindings db", report("cannot write bindings mail", 59*time.Second).Message, "not again")
	assert.Equal(t, "cannot write bindings mail", report("cannot write bindings mail", time.Second).Message)
	assert.Len(t, report(strings.Repeat("x", 10_000), time.Hour).Message, 512)
	require.ErrorIs(t, statuses.ReportUnwritten(t.Context(), pod("pod-0", 0), "x"), status.ErrGone)
}

// That an agent is too old for its data is stored once in a minute, and read with its unit (TRUST.md A6).
func TestReportOutdated(t *testing.T) {
	_, statuses, _ := inhabited(t)
	now := kubetest.Epoch()
	statuses.Now = func() time.Time { return now }
	report := func(after time.Duration) time.Time {
		now = now.Add(after)
		require.NoError(t, statuses.ReportOutdated(t.Context(), pod("pod-2", 0)))
		state, err := statuses.Status(t.Context(), pod("pod-2", 0), false)
		require.NoError(t, err)
		at := slices.IndexFunc(state.Units, func(u application.Unit) bool { return u.Number == 2 })
		return state.Units[at].Outdated
	}
	first := kubetest.Epoch()
	assert.Equal(t, first, report(0))
	assert.Equal(t, first, report(59*time.Second), "not again")
	assert.Equal(t, first.Add(time.Minute), report(time.Second))
	require.ErrorIs(t, statuses.ReportOutdated(t.Context(), pod("pod-0", 0)), status.ErrGone)
}
