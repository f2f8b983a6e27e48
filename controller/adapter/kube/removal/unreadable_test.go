package removal

import (
	"testing"

	"github.com/stretchr/testify/require"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Nothing is done while an object cannot be read, as one that a restore has brought into another namespace: the error names
// the command that shows it, and what helps.
func TestCensusNamesWhatHelps(t *testing.T) {
	side := convert.ForRelationSide(relation.Side{Key: key(), Role: application.Provider, Relation: "identity", ID: 7, Interface: "pg"})
	side.Name = "restored"
	_, err := newWorld(t, side).Census(t.Context())
	require.ErrorContains(t, err, "kubectl -n bank get relationsides.orcon.tengu.io restored -o yaml shows it; correct it, or delete it, "+
		"which gives up an end that it owes to handlers")
}
