package settle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// A namespace refers to an application of another one while one of its own applications names it (TRUST.md U4).
func TestReferrers(t *testing.T) {
	n := settletest.New(t)
	assert.Equal(t, []string{"office"}, n.Settler.Referrers("shop", "db"), "the shop's blog names its own namespace's")
	assert.Empty(t, n.Settler.Referrers("shop", "blog"))
	assert.Empty(t, n.Settler.Referrers("office", "db"))

	points := func(to string) {
		settletest.Change(n, "office", "blog", func(d *appsv1.Deployment) { d.Spec.Template.Annotations[application.KeyRelations] = to })
		n.Settle("office")
	}
	points("queue.shop")
	assert.Empty(t, n.Settler.Referrers("shop", "db"))
	assert.Equal(t, []string{"office"}, n.Settler.Referrers("shop", "queue"))
	settletest.Change(n, "", "office", func(ns *corev1.Namespace) { ns.Labels = nil })
	n.Settle("office")
	assert.Empty(t, n.Settler.Referrers("shop", "queue"), "it takes no part any more")
}
