package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// A removal that was confirmed counts once, also where another member waits for a person all the time: a member that returns
// goes only after another confirmation (FLEET.md O2).
func TestConfirmationCountsOnceBesideAWait(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "3")
	w.runs("b", "1")
	name := integrationset.Name("prod", integrationset.Key{Integration: "c", Namespace: "/ns.yml"})
	require.NoError(t, w.client.Create(t.Context(), &bundlev1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name}}))
	w.runs("c", "1") // a BundleDeployment of another user has its name
	r := w.process()
	w.settle(r)
	w.runs("a", "0")
	require.NoError(t, w.round(r))
	require.Equal(t, "RemovalHeld", w.why())
	w.set.Annotations = map[string]string{v1alpha1.ConfirmKey: w.set.Status.Removal.Digest}
	require.NoError(t, w.client.Update(t.Context(), w.set))
	w.settle(r)
	require.NotContains(t, w.members(), "a")

	w.runs("a", "3")
	w.settle(r)
	require.Contains(t, w.members(), "a")
	w.runs("a", "0")
	w.settle(r)
	assert.Contains(t, w.members(), "a", "nobody has confirmed this removal")
	assert.Equal(t, "RemovalHeld", w.why())
}
