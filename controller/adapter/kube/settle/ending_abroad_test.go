package settle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// unit returns a bare pod with an agent and an address.
func unit(namespace, name string, annotations map[string]string) *corev1.Pod {
	p := object.Named(&corev1.Pod{}, namespace, name)
	p.UID, p.Annotations = types.UID("uid-"+name), annotations
	p.Spec.InitContainers = []corev1.Container{{Name: injection.AgentContainer}}
	p.Status.PodIP = "10.0.0.1"
	return p
}

// A unit of the provider that inherits the end of a relation with another namespace runs departed for the units that the
// requirer had, as one of its own namespace does (TRUST.md T2).
func TestEndAbroadHasUnitsDepart(t *testing.T) {
	n := settletest.New(t)
	offer := kubetest.OfferTo("office")
	offer.Name, offer.UID, offer.Spec.Application = "of-pg", "uid-of-pg", "pg"
	n.Server.Kept.Put(offer,
		unit("shop", "pg", map[string]string{application.KeyProvides: "db:db", application.KeyHandlers: "/handlers", application.PrefixData + "db": "host: pg"}),
		unit("office", "app", map[string]string{application.KeyConsumes: "db:db", application.KeyRelations: "pg.shop"}))
	settle := func() {
		for range 5 {
			n.Settle("shop")
			n.Settle("office")
		}
	}
	settle()
	key := relation.Key{
		Requirer: relation.End{Namespace: "office", Application: "app", Endpoint: "db"},
		Provider: relation.End{Namespace: "shop", Application: "pg", Endpoint: "db"},
	}
	settletest.Change(n, "office", key.Name(), func(r *v1alpha1.Relation) {
		require.NotEmpty(t, r.Status.Offer)
		r.DeletionTimestamp = &metav1.Time{Time: kubetest.Epoch()}
	})
	settle()
	var side v1alpha1.RelationSide
	require.NoError(t, n.Server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: key.SideName(application.Provider)}, &side))
	require.NotNil(t, side.State.End)
	assert.Equal(t, []string{"pg/0"}, side.State.End.PendingUnits)
	assert.Equal(t, []int64{0}, side.State.End.RemoteUnits, "app/0 departs")
}
