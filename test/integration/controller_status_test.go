package integration

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// message is that of a condition; empty where there is none.
func message(conditions []metav1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// events are the notes of the Events of a reason about an object of a kind.
func (w *controllerWorld) events(kind, reason string) []string {
	var list eventsv1.EventList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	var notes []string
	for _, e := range list.Items {
		if e.Regarding.Kind == kind && e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

func (w *controllerWorld) setStatus(s *speaker, request *wire.SetStatusRequest) error {
	_, err := s.api.SetStatus(w.ctx, asking(s, request))
	return err
}

func status(state, message string) *wire.Status { return &wire.Status{State: state, Message: message} }

// A shop and its database say how they are and what their handlers fail at, and
// people see it on the applications, on the relation and on the pods, through the real
// API server and with the controller's own roles (RELATIONS.md L3, P1, P4).
func TestControllerShowsStatuses(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	web, db := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2")
	uid := hears(t, web.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && s.GetUnit().GetKnown() }).GetRelations()[0].GetUid()
	hears(t, db.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && s.GetUnit().GetKnown() })
	w.eventually("both sides are there", func() bool { return w.relations()["db"].Status.RelationStatus == "joined" })

	t.Log("the database's handler fails")
	failing := &wire.HandlerFailure{Event: "main-relation-changed (web)", Relation: uid, Attempts: 1, Said: "exit code 4: no room\n"}
	_, err := db.api.Report(w.ctx, asking(db, &wire.ReportRequest{Failing: failing}))
	require.NoError(t, err)
	w.eventually("it is told of the relation and the application", func() bool {
		r := w.relations()["db"]
		return reason(r.Status.Conditions, "HandlerFailed") == "HandlerFailed" && r.Status.RelationStatus == "error" &&
			reason(w.app("db").Status.Conditions, "HandlerFailed") == "HandlerFailed" && len(w.events("Pod", "HandlerFailed")) == 1
	})
	for _, text := range []string{message(w.relations()["db"].Status.Conditions, "HandlerFailed"), message(w.app("db").Status.Conditions, "HandlerFailed"), w.events("Pod", "HandlerFailed")[0]} {
		assert.Contains(t, text, "db/0 has failed to handle main-relation-changed (web) since ")
		assert.Contains(t, text, ": exit code 4: no room; it is retried, see kubectl -n "+db.pod.Namespace+" logs "+db.pod.Name+" --all-containers")
	}
	assert.Empty(t, reason(w.app("web").Status.Conditions, "HandlerFailed"), "the shop's handlers do not")
	failing.Attempts = 2
	_, err = db.api.Report(w.ctx, asking(db, &wire.ReportRequest{Failing: failing}))
	require.NoError(t, err)
	_, err = db.api.Report(w.ctx, asking(db, &wire.ReportRequest{}))
	require.NoError(t, err)
	w.eventually("it goes when the handler has succeeded", func() bool {
		r := w.relations()["db"]
		return reason(r.Status.Conditions, "HandlerFailed") == "" && reason(w.app("db").Status.Conditions, "HandlerFailed") == "" && r.Status.RelationStatus == "joined"
	})
	assert.Len(t, w.events("Pod", "HandlerFailed"), 1, "one problem is one Event")

	t.Log("units say how they are, and their leader how the application is")
	require.NoError(t, w.setStatus(web, &wire.SetStatusRequest{Status: status("maintenance", "warming\nup")}))
	w.eventually("the unit speaks for the application", func() bool {
		return reason(w.app("web").Status.Conditions, "ApplicationStatus") == "!Maintenance" && message(w.app("web").Status.Conditions, "ApplicationStatus") == "warming up"
	})
	code := func(err error) connect.Code { return connect.CodeOf(err) }
	assert.Equal(t, connect.CodePermissionDenied, code(w.setStatus(web, &wire.SetStatusRequest{Status: status("active", ""), Application: true})), "nobody leads it")
	assert.Equal(t, connect.CodeInvalidArgument, code(w.setStatus(web, &wire.SetStatusRequest{Status: status("fine", "")})))
	assert.Equal(t, connect.CodeInvalidArgument, code(w.setStatus(web, &wire.SetStatusRequest{Status: status("active", strings.Repeat("m", 1025))})))
	term := w.leads(web)
	require.NoError(t, w.setStatus(web, &wire.SetStatusRequest{Status: status("active", "serving"), Application: true, Term: term}))
	w.eventually("kubectl get shows it", func() bool {
		return strings.Contains(w.cluster.Kubectl(t, "-n", w.namespace, "get", "rapp", "web"), "Active")
	})
	got, err := web.api.GetStatus(w.ctx, asking(web, &wire.GetStatusRequest{Application: true}))
	require.NoError(t, err)
	assert.Equal(t, "active", got.Msg.GetStatus().GetState())
	assert.Equal(t, "maintenance", got.Msg.GetUnits()[0].GetStatus().GetState())
	got, err = web.api.GetStatus(w.ctx, asking(web, &wire.GetStatusRequest{}))
	require.NoError(t, err)
	assert.Equal(t, "warming up", got.Msg.GetStatus().GetMessage())
	_, err = db.api.GetStatus(w.ctx, asking(db, &wire.GetStatusRequest{Application: true}))
	assert.Equal(t, connect.CodePermissionDenied, code(err), "only a leader")

	t.Log("the database says why there is no answer")
	side := &wire.SetStatusRequest{Relation: uid, Status: &wire.Status{State: "blocked", Message: "no database of that name", Code: "NoDatabase", Resolution: "ask for one of: a, b"}}
	assert.Equal(t, connect.CodePermissionDenied, code(w.setStatus(db, side)), "only its leader may")
	side.Term = w.leads(db)
	require.NoError(t, w.setStatus(db, side))
	w.eventually("the relation shows it, and who waits reads it", func() bool {
		r := w.relations()["db"]
		return reason(r.Status.Conditions, "ProviderStatus") == "!NoDatabase" && message(r.Status.Conditions, "ProviderStatus") == "no database of that name; ask for one of: a, b" &&
			strings.Contains(message(w.app("web").Status.Conditions, "Reconciling"), "its status: no database of that name; ask for one of: a, b")
	})
	assert.Equal(t, connect.CodeNotFound, code(w.setStatus(db, &wire.SetStatusRequest{Relation: "00000000-0000-0000-0000-000000000000", Status: status("active", ""), Term: side.GetTerm()})), "a relation of others")
	_, err = db.api.Lead(w.ctx, asking(db, &wire.LeadRequest{Resign: true}))
	require.NoError(t, err)
	side.Status.State = "active"
	assert.Equal(t, connect.CodePermissionDenied, code(w.setStatus(db, side)), "a deposed leader's late word")
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// An agent reports the files that it cannot write, and people see it on the application. What its handlers fail at stays
// (TRUST.md U2).
func TestControllerShowsUnwrittenFiles(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.consumer("web", consumes("db", "db-endpoint")))
	web := w.speaker(c, "web", "10.9.0.1")
	hears(t, web.stream, "its unit", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	_, err := web.api.Report(w.ctx, asking(web, &wire.ReportRequest{Failing: &wire.HandlerFailure{Event: "db-relation-changed", Attempts: 1}}))
	require.NoError(t, err)
	_, err = web.api.Report(w.ctx, asking(web, &wire.ReportRequest{Unwritten: "cannot write bindings db: no space left on device"}))
	require.NoError(t, err)
	w.eventually("it is a condition", func() bool {
		return reason(w.app("web").Status.Conditions, "AgentFailed") == "FilesNotWritten"
	})
	assert.Contains(t, message(w.app("web").Status.Conditions, "AgentFailed"), "cannot write bindings db: no space left on device")
	assert.Equal(t, "HandlerFailed", reason(w.app("web").Status.Conditions, "HandlerFailed"))
	w.eventually("it is an Event", func() bool { return len(w.events("Deployment", "FilesNotWritten")) > 0 })
	assert.Len(t, w.events("Deployment", "FilesNotWritten"), 1)
}
