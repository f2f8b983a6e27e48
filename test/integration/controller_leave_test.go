package integration

import (
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/removal"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// tenancy is a bank whose vault is offered to a shop. Both sides have a unit with handlers, and have heard of each
// other.
type tenancy struct {
	bank, shop *controllerWorld
	c          *controllerReplica
	vault, web *speaker
	// heard is the relation as the vault knows it.
	heard *wire.Relation
}

func newTenancy(t *testing.T, shop *controllerWorld) *tenancy {
	t.Helper()
	w := &tenancy{shop: shop, bank: shop.another(), c: shop.controller(-1)}
	w.bank.create(w.bank.offer(shop.namespace),
		w.bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}))
	consumer := consumes("store:pg", "vault."+w.bank.namespace)
	consumer[application.KeyHandlers] = "/handlers"
	shop.create(shop.consumer("web", consumer))
	w.web, w.vault = shop.speaker(w.c, "web", "10.9.1.1"), w.bank.speaker(w.c, "vault", "10.9.1.2")
	related := func(s *wire.Snapshot) bool { return one(s) != nil && len(one(s).GetUnits()) == 1 }
	hears(t, w.web.stream, "the vault", related)
	w.heard = one(hears(t, w.vault.stream, "the shop", related))
	require.NoError(t, w.vault.commit(w.bank.ctx, w.bank.leads(w.vault), change(w.heard.GetUid(), true, "user", "shop")))
	hears(t, w.web.stream, "its user", hasUser)
	return w
}

func hasUser(s *wire.Snapshot) bool { return one(s).GetBag().GetData()["user"] == "shop" }

// definitions lists the definitions of Orcon's kinds.
func definitions(t *testing.T, cluster *controlplane.Cluster) []string {
	t.Helper()
	return slices.DeleteFunc(strings.Fields(cluster.Kubectl(t, "get", "crd", "-o", "name")), func(name string) bool {
		return !strings.HasSuffix(name, ".orcon.tengu.io")
	})
}

// awaitDefinitions waits until a number of definitions is left, and on failure shows what the API server says of them.
func awaitDefinitions(t *testing.T, cluster *controlplane.Cluster, left int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			const reasons = "custom-columns=NAME:.metadata.name,DELETED:.metadata.deletionTimestamp,CONDITIONS:.status.conditions[*].message"
			t.Log(cluster.Kubectl(t, "get", "crd", "-o", reasons))
		}
	}()
	controlplane.Eventually(t, func() bool { return len(definitions(t, cluster)) == left }, soon, "%d definitions are left", left)
}

// refusedAll asserts that the deletion of each definition is refused, and that the messages name both ways to leave.
func refusedAll(t *testing.T, cluster *controlplane.Cluster) {
	t.Helper()
	all := definitions(t, cluster)
	out, err := cluster.Try("delete", "crd", "--all", "--wait=false")
	require.Error(t, err)
	assert.Equal(t, len(all), strings.Count(out, "run orcon leave; to end every relation first, run orcon leave --end"), out)
	assert.ElementsMatch(t, all, definitions(t, cluster))
}

// Each way in which Orcon goes ends nothing that a person has not ended (TRUST.md T1).
func TestLeave(t *testing.T) {
	t.Parallel()
	cluster := controlplane.Start(t)
	install(t, cluster)
	w := newTenancy(t, newWorldIn(t, cluster))
	orcon := func(t *testing.T, arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), controlplane.Binary(t, "orcon"), append(arguments, "--kubeconfig", cluster.Kubeconfig)...)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	for _, step := range []struct {
		name string
		run  func(*testing.T, func(*testing.T, ...string) string)
	}{{"KeepAndComeBack", w.keepAndComeBack}, {"DeletedWhileAway", w.deletedWhileAway}, {"EndAll", w.endAll}, {"DeletedDefinition", w.deletedDefinition}, {"DeletedDefinitions", w.deletedDefinitions}} {
		require.True(t, t.Run(step.name, func(t *testing.T) { step.run(t, orcon) }))
	}
}

// comesBack installs Orcon again, and connects both agents.
func (w *tenancy) comesBack(t *testing.T) {
	t.Helper()
	install(t, w.shop.cluster)
	w.c = w.shop.controller(-1)
	for _, s := range []*speaker{w.web, w.vault} {
		s.turnTo(t, w.c)
	}
	w.web.stream, w.vault.stream = w.shop.agent(w.c, w.web.token), w.bank.agent(w.c, w.vault.token)
}

// Orcon leaves and keeps everything. When it is back, relations go on with their ids, and no handler has anything to
// do.
func (w *tenancy) keepAndComeBack(t *testing.T, orcon func(*testing.T, ...string) string) {
	told := w.follow(t)
	w.c.stop()
	out := orcon(t, "leave", "--yes")
	assert.Contains(t, out, "Relations that stay, with all that is stored of them: 1. No handler runs.")
	_, bare, _ := strings.Cut(out, "start without files and variables of relations:\n")
	assert.Contains(t, bare, "  "+w.bank.namespace+"/vault\n")
	assert.Contains(t, bare, "  "+w.shop.namespace+"/web\n")
	assert.Contains(t, out, "deleted ClusterRoleBinding relations-controller\n")
	assert.Contains(t, out, "deleted ServiceAccount default/relations-controller\n")
	refusedAll(t, w.shop.cluster)
	assert.NotEmpty(t, w.shop.cluster.Kubectl(t, "get", "namespaces", "-l", "tengu-injector=enabled", "-o", "name"))
	w.comesBack(t)
	w.goesOn(t)
	w.c.stop()
	for name, events := range told() {
		assert.Empty(t, events, name)
	}
}

// A person deletes a Relation while Orcon is away: it holds its name until it is let go, and its end is owed as if
// Orcon had been there.
func (w *tenancy) deletedWhileAway(t *testing.T, orcon func(*testing.T, ...string) string) {
	relation := w.shop.relations()["vault"]
	require.NoError(t, w.shop.admin.Delete(w.shop.ctx, &relation))
	out := orcon(t, "release", "--yes")
	assert.Contains(t, out, "Relation "+w.shop.namespace+"/"+relation.Name+"\n  its end is owed to ")
	assert.Contains(t, out, "  its end is owed to "+w.bank.namespace+"/vault (main, with web."+w.shop.namespace+":store)\n")
	assert.Empty(t, w.shop.relations())
	assert.Contains(t, orcon(t, "release"), "nothing waits for a controller that is gone")
	side := w.bank.sides()[v1alpha1.RoleProvider]
	require.NotNil(t, side.State.End)
	assert.Equal(t, []string{"vault/0"}, side.State.End.PendingUnits)

	w.comesBack(t)
	ended := func(s *wire.Snapshot) bool { return one(s) != nil && one(s).GetEnded() }
	assert.Equal(t, w.heard.GetId(), one(hears(t, w.vault.stream, "the end", ended)).GetId())
	w.bank.leads(w.vault)
	w.handled(t, w.web, w.vault)
	w.relatesAgain(t)
}

// handled answers that handlers have handled the end of the relation.
func (w *tenancy) handled(t *testing.T, speakers ...*speaker) {
	t.Helper()
	for _, s := range speakers {
		_, err := s.api.Leave(w.shop.ctx, asking(s, &wire.LeaveRequest{Relation: w.heard.GetUid(), Handled: true}))
		require.NoError(t, err)
	}
}

// relatesAgain waits for the next relation of the two.
func (w *tenancy) relatesAgain(t *testing.T) {
	t.Helper()
	next := func(s *wire.Snapshot) bool { return one(s) != nil && !one(s).GetEnded() && len(one(s).GetUnits()) == 1 }
	w.heard = one(hears(t, w.vault.stream, "the next relation", next))
	require.NoError(t, w.vault.commit(w.bank.ctx, w.bank.leads(w.vault), change(w.heard.GetUid(), true, "user", "shop")))
	hears(t, w.web.stream, "its user", func(s *wire.Snapshot) bool { return next(s) && hasUser(s) })
}

// Every relation ends. The command waits for the handlers of a unit that is there, and stops at an end that no unit can
// handle, until a person waives it.
func (w *tenancy) endAll(t *testing.T, _ func(*testing.T, ...string) string) {
	vault := &appsv1.Deployment{ObjectMeta: w.bank.meta("vault")}
	w.bank.change(vault, func() { vault.Spec.Replicas = new(int32) })
	w.bank.eventually("no unit is left", func() bool { return w.bank.app("vault").State.Units[0].DepartureReason != "" })
	cluster, err := removal.New(w.shop.cluster.Config(t), func(line string) { t.Log(line) })
	require.NoError(t, err)
	stopped := make(chan error, 1)
	var answered atomic.Bool
	go func() {
		err := removal.Ends{Cluster: cluster}.All(w.shop.ctx)
		assert.True(t, answered.Load(), "it waits for web")
		stopped <- err
	}()
	hears(t, w.web.stream, "the end", func(s *wire.Snapshot) bool { return one(s) != nil && one(s).GetEnded() })
	w.shop.leads(w.web)
	answered.Store(true)
	w.handled(t, w.web)
	err = <-stopped
	require.ErrorIs(t, err, removal.ErrDeaf)
	side := w.bank.sides()[v1alpha1.RoleProvider]
	assert.Contains(t, err.Error(), w.bank.namespace+"/vault (main, with web."+w.shop.namespace+":store): opt its namespace in again")
	assert.Contains(t, err.Error(), "or waive the end: orcon ends waive "+side.Name+" -n "+w.bank.namespace)
	require.NoError(t, w.bank.admin.Delete(w.bank.ctx, &side))
	require.NoError(t, removal.Ends{Cluster: cluster}.All(w.shop.ctx), "run again")

	// Times are stored in seconds: a unit that goes in the second of a relation counts as one that was in it.
	<-time.After(time.Until(w.bank.app("vault").State.Units[0].DepartureTime.Add(time.Second)))
	w.shop.optIn()
	w.bank.optIn()
	w.bank.change(vault, func() { *vault.Spec.Replicas = 1 })
	w.vault = w.bank.speaker(w.c, "vault", "10.9.1.3")
	w.relatesAgain(t)
}

// The definition of Relations alone is deleted while the controller still runs: no relation ends, and data still flows.
func (w *tenancy) deletedDefinition(t *testing.T, _ func(*testing.T, ...string) string) {
	const relations = "relations.orcon.tengu.io"
	w.shop.cluster.Kubectl(t, "annotate", "crd", relations, "orcon.tengu.io/leave=keep")
	w.shop.cluster.Kubectl(t, "delete", "crd", relations, "--wait=false")
	w.shop.eventually("the Relation is being deleted", func() bool {
		r := w.shop.relations()["vault"]
		return r.DeletionTimestamp != nil
	})
	web := w.shop.agent(w.c, w.web.token)
	hears(t, web, "its relation", hasUser)
	require.NoError(t, w.vault.commit(w.bank.ctx, w.bank.leads(w.vault), change(w.heard.GetUid(), true, "host", "vault")))
	hears(t, web, "the change", func(s *wire.Snapshot) bool { return one(s).GetBag().GetData()["host"] == "vault" })
	w.goesOn(t)
}

// The definitions are deleted while the controller still runs, with the annotation that the policy requires. No agent
// receives an end, a departure or a change.
func (w *tenancy) deletedDefinitions(t *testing.T, orcon func(*testing.T, ...string) string) {
	cluster := w.shop.cluster
	told := w.follow(t)
	cluster.Kubectl(t, "annotate", "crd", "--all", "orcon.tengu.io/leave=keep")
	cluster.Kubectl(t, "delete", "crd", "--all", "--wait=false")
	awaitDefinitions(t, cluster, 1) // that of Relations, which their finalizers hold
	w.goesOn(t)
	assert.Empty(t, w.shop.relations()["vault"].Status.EndReason)
	assert.NotContains(t, orcon(t, "release", "--yes"), "owed", "it goes with its definition")
	awaitDefinitions(t, cluster, 0)
	w.goesOn(t)
	w.c.stop()
	for name, events := range told() {
		assert.Empty(t, events, name)
	}
}

// goesOn asserts that both agents, connected anew, are told of the relation as it was.
func (w *tenancy) goesOn(t *testing.T) {
	t.Helper()
	as := func(s *wire.Snapshot) bool {
		return one(s) != nil && !one(s).GetEnded() && !suspended(s) && len(one(s).GetUnits()) == 1 && len(one(s).GetDeparted()) == 0
	}
	web := hears(t, w.shop.agent(w.c, w.web.token), "its relation", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	vault := hears(t, w.bank.agent(w.c, w.vault.token), "its relation", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	assert.True(t, as(web) && hasUser(web), "%v", web)
	assert.True(t, as(vault) && one(vault).GetUid() == w.heard.GetUid(), "%v", vault)
}

// follow opens a further stream for each side, and returns the events that handlers would handle after the first
// snapshot, by side, once the streams have ended.
func (w *tenancy) follow(t *testing.T) (told func() map[string][]string) {
	t.Helper()
	var both sync.WaitGroup
	var mu sync.Mutex
	heard := map[string][]*wire.Snapshot{}
	for name, stream := range map[string]*agentStream{
		"web": w.shop.agent(w.c, w.web.token), "vault": w.bank.agent(w.c, w.vault.token),
	} {
		first := hears(t, stream, "what it is told first", func(s *wire.Snapshot) bool { return one(s) != nil && len(one(s).GetUnits()) == 1 })
		heard[name] = append(heard[name], first)
		both.Go(func() {
			for {
				message, err := stream.Receive()
				if err != nil {
					return
				}
				mu.Lock()
				heard[name] = append(heard[name], message.GetSnapshot())
				mu.Unlock()
			}
		})
	}
	return func() map[string][]string {
		both.Wait()
		all := map[string][]string{}
		for name, snapshots := range heard {
			e := newEar(t)
			e.hears(snapshots[0])
			for _, s := range snapshots[1:] {
				all[name] = append(all[name], e.hears(s)...)
			}
		}
		return all
	}
}
