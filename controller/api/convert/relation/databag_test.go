package relation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func TestDatabagPurpose(t *testing.T) {
	home := &v1alpha1.RelationHome{Namespace: "office", Name: "r"}
	tests := map[string]struct {
		why   string
		spec  v1alpha1.DatabagSpec
		reads bool
	}{
		"Declared":         {why: "data for all relations", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeDeclared, Endpoint: "db"}, reads: true},
		"DeclaredNowhere":  {why: "data is declared of an endpoint", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeDeclared}},
		"DeclaredRelation": {why: "what is declared is for all relations", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeDeclared, Endpoint: "db", Relation: "uid"}},
		"DeclaredUnit":     {why: "applications declare", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeDeclared, Endpoint: "db", Unit: "1"}},
		"DeclaredHome":     {why: "there is no relation to locate", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeDeclared, Endpoint: "db", Home: home}},
		"Application":      {why: "the application's part", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeRelation, Endpoint: "db", Relation: "uid"}, reads: true},
		"Unit":             {why: "a unit's part", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeRelation, Endpoint: "db", Relation: "uid", Unit: "1", Home: home}, reads: true},
		"RelationUnnamed":  {why: "it may be any", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeRelation, Endpoint: "db"}},
		"RelationNowhere":  {why: "a relation is one of an endpoint", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeRelation, Relation: "uid"}},
		"Outbox":           {why: "a unit's transactions", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox, Unit: "1"}, reads: true},
		"OutboxOfNobody":   {why: "applications commit nothing", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox}},
		"OutboxEndpoint":   {why: "it is of all endpoints", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox, Unit: "1", Endpoint: "db"}},
		"OutboxRelation":   {why: "it is of all relations", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox, Unit: "1", Relation: "uid"}},
		"OutboxHome":       {why: "there is no relation to locate", spec: v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox, Unit: "1", Home: home}},
		"None":             {why: "unset fields say nothing about the purpose", spec: v1alpha1.DatabagSpec{Endpoint: "db"}},
		"Unknown":          {why: "a later version may have others", spec: v1alpha1.DatabagSpec{Purpose: "Later", Endpoint: "db"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := v1alpha1.Databag{Spec: tc.spec}
			b.Spec.Application = "db"
			b.Name = relation.Databag{Application: "db", Endpoint: tc.spec.Endpoint, Relation: tc.spec.Relation, Unit: tc.spec.Unit}.Name()
			if tc.spec.Purpose == v1alpha1.PurposeOutbox {
				b.Name = relation.OutboxName("db", tc.spec.Unit)
			}
			bag, err := ToDatabag(&b)
			if !tc.reads {
				require.ErrorContains(t, err, "do not go with purpose", tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			if tc.spec.Purpose != v1alpha1.PurposeOutbox {
				assert.Equal(t, b.Spec, ForBag(bag))
			}
			b.Name = "another"
			_, err = ToDatabag(&b)
			require.ErrorContains(t, err, "not the name of the")
		})
	}
}
