package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Agents without handlers of another namespace hear of the ends that a person of the provider's namespace confirms or waives
// after the Relations have gone, under the identity that they know (TRUST.md T4).
func TestDecidedEndsAreHeardByAgentsOfOtherNamespaces(t *testing.T) {
	const tenants = 7
	bank := newControllerWorld(t)
	shop := bank.another()
	c := bank.controller(-1)
	vault := bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"})
	vault.Annotations = map[string]string{application.PrefixData + "main": "host: one"}
	bank.create(vault, bank.offer(shop.namespace))
	streams, uids := map[string]*agentStream{}, map[string]string{}
	for i := range tenants {
		name := fmt.Sprintf("web-%d", i)
		shop.create(shop.consumer(name, consumes("store:pg", "vault."+bank.namespace)))
		streams[name] = shop.speaker(c, name, fmt.Sprintf("10.9.8.%d", i+1)).stream
		uids[name] = one(hears(t, streams[name], "its relation", func(s *wire.Snapshot) bool { return one(s).GetComplete() })).GetUid()
	}
	sides := func(is func(v1alpha1.RelationSide) bool) (all []v1alpha1.RelationSide) {
		for _, uid := range uids {
			all = append(all, bank.sidesOf(uid)...)
		}
		return slices.DeleteFunc(all, func(s v1alpha1.RelationSide) bool { return !is(s) })
	}
	known := func(s v1alpha1.RelationSide) bool { return s.State.KnownTo == v1alpha1.AudienceHandlers }
	bank.eventually("handlers know them", func() bool { return len(sides(known)) == tenants })
	for _, r := range shop.all() {
		require.NoError(t, shop.admin.Delete(shop.ctx, &r))
	}
	shop.eventually("the Relations are gone", func() bool { return len(shop.all()) == 0 })
	held := sides(func(s v1alpha1.RelationSide) bool { return s.State.End != nil && s.State.End.State == v1alpha1.EndHeld })
	require.GreaterOrEqual(t, len(held), 2)
	bank.editor("deciding-editor")
	person := bank.orcon("deciding-editor")
	for i, choice := range []string{"waive", "confirm"} {
		_, code := person.run("ends", choice, held[i].Name)
		require.Zero(t, code)
		name := held[i].Spec.Requirer.Application
		hears(t, streams[name], choice+": that it has ended", func(s *wire.Snapshot) bool {
			return one(s).GetEnded() && one(s).GetUid() == uids[name]
		})
	}
}
