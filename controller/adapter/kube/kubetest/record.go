package kubetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// Entries returns the entries of the records of all bags, one line each. It fails if a record does not
// lead to its bag.
func Entries(t *testing.T, s *Strict) []string {
	t.Helper()
	var list v1alpha1.DatabagList
	require.NoError(t, s.Kept.List(t.Context(), &list))
	var records []history.Log
	for _, b := range list.Items {
		r, err := convert.ToHistory(&b)
		require.NoError(t, err)
		to, err := r.Replay(convert.ToAddress(&b))
		require.NoError(t, err)
		assert.Empty(t, to.Differs(b.State.Data), b.Name)
		records = append(records, r)
	}
	var lines []string
	for _, e := range history.Merge(records...) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s %s: %s %s term:%d +%v ~%v -%v", e.Sequence, e.Who,
			e.Cause, e.Relation, e.Owner, e.Term, e.Added, e.Changed, e.Removed)))
	}
	return lines
}
