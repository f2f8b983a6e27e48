package settle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The definition was deleted with all Relations and made again, and the cache still shows a Relation as it was being
// deleted: it went with the earlier definition, and has not ended (TRUST.md T1).
func TestDefinitionMadeAgain(t *testing.T) {
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(kubetest.Epoch().Add(after)) }
	for name, test := range map[string]struct {
		defined metav1.Time
		ends    bool
	}{
		"Before": {defined: at(-time.Hour), ends: true},
		"Again":  {defined: at(2 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			settletest.Change(n, "", settletest.Definition, func(d *metav1.PartialObjectMetadata) { d.CreationTimestamp = test.defined })
			deleted := at(time.Minute)
			settletest.Change(n, "shop", n.RelationOf("shop").Name, func(r *v1alpha1.Relation) {
				r.CreationTimestamp, r.DeletionTimestamp = at(0), &deleted
			})
			ends := slices.ContainsFunc(n.Decide("shop"), func(d relation.Decision) bool { _, is := d.(relation.Release); return is })
			assert.Equal(t, test.ends, ends)
		})
	}
}
