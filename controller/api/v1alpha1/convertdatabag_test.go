package v1alpha1

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func TestDatabagPurpose(t *testing.T) {
	home := &RelationHome{Namespace: "office", Name: "r"}
	tests := map[string]struct {
		why   string
		spec  DatabagSpec
		reads bool
	}{
		"Declared":         {why: "data for all relations", spec: DatabagSpec{Purpose: PurposeDeclared, Endpoint: "db"}, reads: true},
		"DeclaredNowhere":  {why: "data is declared of an endpoint", spec: DatabagSpec{Purpose: PurposeDeclared}},
		"DeclaredRelation": {why: "what is declared is for all relations", spec: DatabagSpec{Purpose: PurposeDeclared, Endpoint: "db", Relation: "uid"}},
		"DeclaredUnit":     {why: "applications declare", spec: DatabagSpec{Purpose: PurposeDeclared, Endpoint: "db", Unit: "1"}},
		"DeclaredHome":     {why: "there is no relation to locate", spec: DatabagSpec{Purpose: PurposeDeclared, Endpoint: "db", Home: home}},
		"Application":      {why: "the application's part", spec: DatabagSpec{Purpose: PurposeRelation, Endpoint: "db", Relation: "uid"}, reads: true},
		"Unit":             {why: "a unit's part", spec: DatabagSpec{Purpose: PurposeRelation, Endpoint: "db", Relation: "uid", Unit: "1", Home: home}, reads: true},
		"RelationUnnamed":  {why: "it may be any", spec: DatabagSpec{Purpose: PurposeRelation, Endpoint: "db"}},
		"RelationNowhere":  {why: "a relation is one of an endpoint", spec: DatabagSpec{Purpose: PurposeRelation, Relation: "uid"}},
		"Outbox":           {why: "a unit's transactions", spec: DatabagSpec{Purpose: PurposeOutbox, Unit: "1"}, reads: true},
		"OutboxOfNobody":   {why: "applications commit nothing", spec: DatabagSpec{Purpose: PurposeOutbox}},
		"OutboxEndpoint":   {why: "it is of all endpoints", spec: DatabagSpec{Purpose: PurposeOutbox, Unit: "1", Endpoint: "db"}},
		"OutboxRelation":   {why: "it is of all relations", spec: DatabagSpec{Purpose: PurposeOutbox, Unit: "1", Relation: "uid"}},
		"OutboxHome":       {why: "there is no relation to locate", spec: DatabagSpec{Purpose: PurposeOutbox, Unit: "1", Home: home}},
		"None":             {why: "unset fields say nothing about the purpose", spec: DatabagSpec{Endpoint: "db"}},
		"Unknown":          {why: "a later version may have others", spec: DatabagSpec{Purpose: "Later", Endpoint: "db"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := Databag{Spec: tc.spec}
			b.Spec.Application = "db"
			b.Name = relation.Databag{Application: "db", Endpoint: tc.spec.Endpoint, Relation: tc.spec.Relation, Unit: tc.spec.Unit}.Name()
			if tc.spec.Purpose == PurposeOutbox {
				b.Name = relation.OutboxName("db", tc.spec.Unit)
			}
			bag, err := b.ToDomain()
			if !tc.reads {
				require.ErrorContains(t, err, "do not go with purpose", tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			if tc.spec.Purpose != PurposeOutbox {
				assert.Equal(t, b.Spec, ForBag(bag))
			}
			b.Name = "another"
			_, err = b.ToDomain()
			require.ErrorContains(t, err, "not the name of the")
		})
	}
}
