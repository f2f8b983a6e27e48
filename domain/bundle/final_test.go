package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// CONTENT.md X2: Jobs of an uninstallation are those of the inventory that have not completed and are not skipped, in
// their order; only an uninstallation plans them.
func TestFinalJobs(t *testing.T) {
	sequence := order(t, job("b", "true", "run-policy=OnUninstall"), job("a", "true", "run-policy=OnUninstall", "after=Job/b"), job("c", "true"))
	first := draft(t, nil, nil, job("b", "true", "run-policy=OnUninstall"), job("a", "true", "run-policy=OnUninstall", "after=Job/b"), job("c", "true"))
	record := proceed(t, bundle.Record{}, first)
	origins := func(entries []bundle.Entry) (all []string) {
		for _, e := range entries {
			all = append(all, e.Origin.Name)
		}
		return all
	}
	assert.Equal(t, []string{"b", "a"}, origins(bundle.FinalJobs(record, nil)))
	skip, err := bundle.ParseAfter("Job.batch/shop/b")
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, origins(bundle.FinalJobs(record, skip)))
	record.Completed = []bundle.ID{find(t, sequence, "Job b").ID}
	assert.Equal(t, []string{"a"}, origins(bundle.FinalJobs(record, nil)), "it has run, and need not be there any more")

	p, err := bundle.NewPlan(bundle.Intent{Owner: owner, Record: record, Uninstall: true})
	require.NoError(t, err)
	require.Len(t, p.Actions, 1)
	assert.Equal(t, bundle.Run, p.Actions[0].Verb)
	assert.Equal(t, bundle.Removal{p.Actions[0].ID}, bundle.NewRemoval(p))
}
