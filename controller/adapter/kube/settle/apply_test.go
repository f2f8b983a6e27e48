package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// conditional returns one object of each generated kind, with the Relation being deleted or not.
func conditional(version, uid string, deleted bool) kubetest.Memory {
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.State.Identity = "first"
	if deleted {
		r.DeletionTimestamp = &metav1.Time{Time: kubetest.Epoch()}
	}
	m := kubetest.Memory{}
	counted := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
	counted.State.LastRelation = 7
	for _, o := range []client.Object{r, counted, kubetest.DeclaredBag("shop", "db", map[string]string{"host": "old"}), object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")} {
		o.SetResourceVersion(version)
		o.SetUID(types.UID(uid))
		m.Put(o)
	}
	return m
}

// What Orcon alone writes is written and deleted in the revision that was read, so that a change or a new object of the
// same name is not lost (SAFETY.md D11), whichever replica makes it (TRUST.md A2).
func TestApplyIsConditional(t *testing.T) {
	r, err := convert.ToRelation(kubetest.Related("shop", "blog", "shop", "db"))
	require.NoError(t, err)
	r.UID, r.Object = "first", "first"
	bag := relation.Databag{Application: "db", Endpoint: "db", Data: map[string]string{"host": "new"}}
	record := relation.Record{Name: "blog", UID: "first"}
	tests := map[string]struct {
		decision relation.Decision
		deleted  bool
	}{
		"Count":    {decision: relation.Count{LastRelation: 8}},
		"Publish":  {decision: relation.Publish{Databag: bag}},
		"Remember": {decision: relation.Remember{Record: record}},
		"Relate":   {decision: relation.Relate{Pair: relation.Pair{Key: r.Key, Interface: "db"}, State: r.State}},
		"Update":   {decision: relation.Update{Relation: r}},
		"Finish":   {decision: relation.Finish{Relation: r}},
		"Release":  {decision: relation.Release{Relation: r}, deleted: true},
		"Withdraw": {decision: relation.Withdraw{Databag: bag}},
		"Forget":   {decision: relation.Forget{Record: record}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			apply := func(server *kubetest.Strict) error {
				w := Settler{Reader: conditional("7", "first", test.deleted), Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
				return w.Apply(t.Context(), "shop", test.decision)
			}
			same := &kubetest.Strict{Kept: conditional("7", "first", test.deleted)}
			require.NoError(t, apply(same))
			assert.Equal(t, 1, same.Writes, "what was read is what is stored")

			anew := &kubetest.Strict{Kept: conditional("9", "second", test.deleted)}
			err := apply(anew)
			require.True(t, apierrors.IsConflict(err), "%v", err)
			assert.Zero(t, anew.Writes, "an object made anew is another")
		})
	}
	for name, test := range tests {
		t.Run(name+"Changed", func(t *testing.T) {
			server := &kubetest.Strict{Kept: conditional("8", "first", test.deleted)}
			w := Settler{Reader: conditional("7", "first", test.deleted), Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
			err := w.Apply(t.Context(), "shop", test.decision)
			require.True(t, apierrors.IsConflict(err), "%v", err)
			assert.Zero(t, server.Writes, "what somebody changed meanwhile stays")
		})
	}
}
