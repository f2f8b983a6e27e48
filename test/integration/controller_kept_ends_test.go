package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Ends that are kept are taken back on both sides: where the requirers have handlers too, their relations go on as the
// same (TRUST.md T4).
func TestKeptEndsAreTakenBackOnBothSides(t *testing.T) {
	const tenants = 7
	w := newControllerWorld(t)
	w.controller(-1)
	provides := map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}
	w.create(w.consumer("db", provides))
	for i := range tenants {
		declares := consumes("store:pg", "db")
		declares[application.KeyHandlers] = "/handlers"
		w.create(w.consumer(fmt.Sprintf("web-%d", i), declares))
	}
	sides := func(is func(v1alpha1.RelationSide) bool) (many int) {
		var list v1alpha1.RelationSideList
		require.NoError(t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
		for _, s := range list.Items {
			if is(s) {
				many++
			}
		}
		return many
	}
	known := func(s v1alpha1.RelationSide) bool { return s.State.KnownTo == v1alpha1.AudienceHandlers }
	w.eventually("handlers of both sides know them", func() bool { return sides(known) == 2*tenants && len(w.all()) == tenants })

	for _, r := range w.all() {
		require.NoError(t, w.admin.Delete(w.ctx, &r))
	}
	held := func(role string) func(v1alpha1.RelationSide) bool {
		return func(s v1alpha1.RelationSide) bool {
			return s.Spec.Role == role && s.State.End != nil && s.State.End.State == v1alpha1.EndHeld
		}
	}
	w.eventually("the Relations are gone", func() bool { return len(w.all()) == 0 })
	many := sides(held(v1alpha1.RoleProvider))
	require.NotZero(t, many)
	w.eventually("requirers follow", func() bool { return sides(held(v1alpha1.RoleRequirer)) == many })

	w.editor("kept-editor")
	_, code := w.orcon("kept-editor").run("ends", "keep", "--all")
	require.Zero(t, code)
	w.eventually("no end is held, and the relations go on", func() bool {
		return sides(held(v1alpha1.RoleProvider)) == 0 && sides(held(v1alpha1.RoleRequirer)) == 0 && len(w.all()) >= many
	})
}
