package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A revision that is proposed beside one under way neither hides nor ends it (BUNDLES.md 1 and 6).
func TestProposedBesideOneUnderWay(t *testing.T) {
	ok, started := must(t), time.Unix(0, 0)
	good := draft(t, nil, nil, object("Deployment web"))
	healthy := proceed(t, bundle.Record{}, good)
	next := draft(t, nil, func(in *bundle.Intent) { in.Record = healthy }, object("Service web"))
	newer := draft(t, nil, func(in *bundle.Intent) { in.Record = healthy }, object("ConfigMap web"))
	r := ok(ok(ok(healthy.Propose(next)).Activate(next, started)).Propose(newer))
	require.Equal(t, []string{"Succeeded", "Active", "Proposed"}, states(r))
	assert.Equal(t, 2, r.Active())
	assert.Len(t, r.Forget(1).Revisions, 3, "what is applied and what is healthy are needed")
	assert.Equal(t, []string{"Superseded", "Succeeded", "Proposed"}, states(ok(r.Succeed())))

	failed := ok(r.Fail("x"))
	assert.Equal(t, []string{"Succeeded", "Failed", "Proposed"}, states(failed))
	content, found := failed.WayBack()
	require.True(t, found)
	back := draft(t, nil, func(in *bundle.Intent) { in.Record, in.Back = failed, content }, object("Deployment web"))
	failed = ok(failed.Return(back, started))
	assert.Equal(t, []string{"Succeeded", "Failed", "Superseded", "Active again"}, states(failed))
	assert.Equal(t, "replaced by revision 4, which was begun", failed.Revisions[2].Message)

	assert.Equal(t, []string{"Succeeded", "Superseded", "Active"}, states(ok(r.Activate(newer, started))), "it interrupts once it is approved")
}
