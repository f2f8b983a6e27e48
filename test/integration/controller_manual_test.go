package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A Relation that is wrong by itself is refused by the API server (RELATIONS.md M1, M4,
// M5, SAFETY.md M7).
func TestControllerRefusesManualRelations(t *testing.T) {
	w := newControllerWorld(t)
	tests := map[string]struct {
		why     string
		spoil   func(s *v1alpha1.RelationSpec)
		message string
	}{
		"Self":              {why: "M1", spoil: func(s *v1alpha1.RelationSpec) { s.Provider.Application = "blog" }, message: "an application cannot relate to itself"},
		"RequirerAbroad":    {why: "M7", spoil: func(s *v1alpha1.RelationSpec) { s.Requirer.Namespace = "bank" }, message: "a relation lives in its requirer's namespace"},
		"ReservedName":      {why: "M5", spoil: func(s *v1alpha1.RelationSpec) { s.Requirer.Endpoint = "juju-info" }, message: "names that begin with juju- are reserved"},
		"ReservedInterface": {why: "M5", spoil: func(s *v1alpha1.RelationSpec) { s.Interface = "juju" }, message: "names that begin with juju- are reserved"},
		"Name":              {why: "a name that no application can have", spoil: func(s *v1alpha1.RelationSpec) { s.Provider.Application = "d.b" }, message: "spec.provider.application"},
		"EmptyNamespace":    {why: "no way around the rule for one's own application", spoil: func(s *v1alpha1.RelationSpec) { s.Provider.Namespace = "Bank" }, message: "spec.provider.namespace"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := w.manual("blog", "db")
			tc.spoil(&r.Spec)
			err := w.admin.Create(w.ctx, r)
			require.True(t, apierrors.IsInvalid(err), "%s: %v", tc.why, err)
			assert.ErrorContains(t, err, tc.message, tc.why)
		})
	}
}

// A Relation that does not fit is stalled with the nearest name, takes no part in
// anything, and goes on by itself once it fits (RELATIONS.md M1-M3).
func TestControllerChecksManualRelations(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	db := w.provider("db-endpoint", "db.tengu.io")
	w.create(db, w.consumer("sleep", map[string]string{application.KeyConsumes: "db"}))
	misspelt := w.manual("sleep", "db-endpoint")
	misspelt.Name, misspelt.Spec.Provider.Endpoint = "misspelt", "dbs"
	never := w.manual("sleep", "db-endpiont")
	never.Name = "never"
	w.create(misspelt, never)
	stalled := func(name, why string) func() bool {
		return func() bool {
			var r v1alpha1.Relation
			return w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &r) == nil && r.State.ID == 0 && reason(r.Status.Conditions, "Ready") == "!"+why
		}
	}
	w.eventually("an endpoint that does not exist is reported", stalled("misspelt", relation.ReasonNoMatch))
	w.eventually("an application that does not exist is reported", stalled("never", relation.ReasonNoApplication))
	assert.Contains(t, w.message("never", "Reconciling"), "did you mean db-endpoint?")
	assert.Contains(t, w.message("misspelt", "Stalled"), "did you mean db?")
	assert.Empty(t, w.app("db-endpiont").Name, "no record of an application that never existed")
	s := w.speaker(c, "sleep", "10.1.0.1")
	seen := hears(t, s.stream, "the reason to wait", func(s *wire.Snapshot) bool { return len(s.GetWaiting()) == 1 })
	assert.Nil(t, one(seen), "the unit sees no relation")
	assert.Contains(t, seen.GetWaiting()[0].GetMessage(), "Relation ")

	require.NoError(t, w.admin.Delete(w.ctx, never))
	w.eventually("it is gone at once", func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(never), never)) })
	w.change(db, func() {
		delete(db.Labels, application.KeyProvides)
		db.Annotations = map[string]string{application.KeyProvides: "dbs:db"}
	})
	w.becomes("db-endpoint", "Complete")
	assert.NotZero(t, w.relations()["db-endpoint"].State.ID)
	hears(t, s.stream, "that the gate may open", func(s *wire.Snapshot) bool { return one(s).GetComplete() })
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// message returns the message of a condition of a Relation.
func (w *controllerWorld) message(name, kind string) string {
	var r v1alpha1.Relation
	require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &r))
	return meta.FindStatusCondition(r.Status.Conditions, kind).Message
}
