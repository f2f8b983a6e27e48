package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// The API server refuses a Databag whose fields do not go with its purpose.
func TestDatabagSchema(t *testing.T) {
	t.Parallel()
	w := newControllerWorld(t)
	type spec = v1alpha1.DatabagSpec
	tests := map[string]struct {
		spec    spec
		state   v1alpha1.DatabagState
		refusal string
	}{
		"declared":          {spec: spec{Purpose: "Declared", Endpoint: "db"}, state: v1alpha1.DatabagState{Data: map[string]string{"host": "db"}, Version: "v"}},
		"declared-relation": {spec: spec{Purpose: "Declared", Endpoint: "db", Relation: "uid"}, refusal: "purpose Relation alone has a relation"},
		"declared-unit":     {spec: spec{Purpose: "Declared", Endpoint: "db", Unit: "1"}, refusal: "a unit declares nothing"},
		"relation":          {spec: spec{Purpose: "Relation", Endpoint: "db", Relation: "uid", Unit: "1"}},
		"relation-endpoint": {spec: spec{Purpose: "Relation", Relation: "uid"}, refusal: "an Outbox alone has no endpoint"},
		"relation-unnamed":  {spec: spec{Purpose: "Relation", Endpoint: "db"}, refusal: "purpose Relation alone has a relation"},
		"relation-commits": {spec: spec{Purpose: "Relation", Endpoint: "db", Relation: "uid"},
			state: v1alpha1.DatabagState{Transaction: &v1alpha1.Transaction{ID: "t"}}, refusal: "only an Outbox commits"},
		"outbox":          {spec: spec{Purpose: "Outbox", Unit: "1"}, state: v1alpha1.DatabagState{Transaction: &v1alpha1.Transaction{ID: "t"}}},
		"outbox-endpoint": {spec: spec{Purpose: "Outbox", Unit: "1", Endpoint: "db"}, refusal: "an Outbox alone has no endpoint"},
		"outbox-unit":     {spec: spec{Purpose: "Outbox"}, refusal: "an Outbox has a unit"},
		"outbox-home": {spec: spec{Purpose: "Outbox", Unit: "1", Home: &v1alpha1.RelationHome{Namespace: "office", Name: "r"}},
			refusal: "only purpose Relation has a home"},
		"outbox-data": {spec: spec{Purpose: "Outbox", Unit: "1"}, state: v1alpha1.DatabagState{Data: map[string]string{"host": "db"}},
			refusal: "an Outbox holds no data"},
		"none":    {spec: spec{Endpoint: "db"}, refusal: "spec.purpose: Unsupported value"},
		"unknown": {spec: spec{Purpose: "Later", Endpoint: "db"}, refusal: "spec.purpose: Unsupported value"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.Databag{Spec: tc.spec, State: tc.state}
			b.Namespace, b.Name, b.Spec.Application = w.namespace, name, "db"
			err := w.admin.Create(w.ctx, b)
			if tc.refusal == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, strings.ReplaceAll(fmt.Sprint(err), "\n", " "), tc.refusal)
		})
	}
}
