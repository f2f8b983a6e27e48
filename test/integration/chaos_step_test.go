package integration

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// longestCut is how long a connection is cut at most.
const longestCut = 2 * time.Second

// mostTenants is how many tenants a run adds at most.
const mostTenants = 10

// chaosShares are the steps of a round.
func chaosShares() []chaos.Share {
	return []chaos.Share{
		{Kind: chaos.AgentKilled, Times: 60}, {Kind: chaos.AgentCut, Times: 60}, {Kind: chaos.ControllerCut, Times: 12},
		{Kind: chaos.ControllerKilled, Times: 1}, {Kind: chaos.ControllerStopped, Times: 2}, {Kind: chaos.WebhookKilled, Times: 3},
		{Kind: chaos.APIServerKilled, Times: 1}, {Kind: chaos.EtcdKilled, Times: 1}, {Kind: chaos.CertificateNew, Times: 2},
		{Kind: chaos.PodDeleted, Times: 2}, {Kind: chaos.RelationEnded, Times: 2}, {Kind: chaos.TenantAdded, Times: 1},
	}
}

// do carries out a step, and reports whether its effect was seen.
func (w *chaosWorld) do(s chaos.Step, admissions *chaosAdmissions) bool {
	agents := w.node.all()
	if len(agents) == 0 {
		return false
	}
	agent, controller := agents[s.Target%len(agents)], w.controllers[s.Target%len(w.controllers)]
	switch s.Kind {
	case chaos.AgentKilled:
		return agent.kill()
	case chaos.AgentCut:
		return w.cut(agent.link, s.Hold)
	case chaos.ControllerCut:
		return w.cut(controller.link, s.Hold)
	case chaos.ControllerKilled:
		return controller.restart(syscall.SIGKILL)
	case chaos.ControllerStopped:
		return controller.restart(syscall.SIGTERM)
	case chaos.WebhookKilled:
		return w.killWebhook(s.Target, admissions)
	case chaos.APIServerKilled:
		return w.killComponent("kube-apiserver", admissions)
	case chaos.EtcdKilled:
		return w.killComponent("etcd", admissions)
	case chaos.CertificateNew:
		return w.renewCertificate()
	case chaos.PodDeleted:
		return w.deletePod(agent)
	case chaos.RelationEnded:
		return w.endRelation(s.Target)
	default:
		return w.tenants < mostTenants && w.tenant() == nil
	}
}

// cut cuts a link for a while, and reports whether it had connections.
func (w *chaosWorld) cut(link *chaos.Link, hold float64) bool {
	broken := link.Cut()
	time.AfterFunc(time.Duration(hold*float64(longestCut)), link.Mend)
	return broken > 0
}

// killWebhook kills a replica while the other is ready.
func (w *chaosWorld) killWebhook(target int, admissions *chaosAdmissions) (killed bool) {
	one, other := w.webhooks[target%2], w.webhooks[1-target%2]
	w.eventually("a webhook is ready", func() bool { return other.get("/readyz") != "" })
	admissions.during(func() {
		killed = one.end(syscall.SIGKILL)
		w.eventually("its connections are closed", func() bool { return w.admission.OpenTo(one.address) == 0 })
	})
	require.NoError(w.t, one.start())
	return killed
}

// killComponent kills a part of the control plane and starts it again.
func (w *chaosWorld) killComponent(name string, admissions *chaosAdmissions) bool {
	admissions.during(func() {
		w.cluster.Kill(w.t, name)
		w.cluster.StartComponent(w.t, name)
		w.eventually("the API server answers", func() bool {
			return w.admin.List(w.ctx, &corev1.NamespaceList{}) == nil
		})
	})
	return true
}

// renewCertificate replaces the certificate of all servers and waits until those that listen show it.
func (w *chaosWorld) renewCertificate() bool {
	require.NoError(w.t, w.authority.renew())
	shown := 0
	for _, s := range append(w.controllers, w.webhooks...) {
		w.eventually("the new certificate is shown", func() bool {
			if c, err := net.Dial("tcp", s.address); err != nil {
				return true // it reads the new one when it starts
			} else if err := c.Close(); err != nil || !w.authority.shown(s.address) {
				return false
			}
			shown++
			return true
		})
	}
	return shown > 0
}

// deletePod deletes the pod of an agent, whose owner makes another.
func (w *chaosWorld) deletePod(a *chaosAgent) bool {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.pod}}
	if w.admin.Delete(w.ctx, pod, client.GracePeriodSeconds(0)) != nil {
		return false
	}
	w.eventually("the pod is gone", func() bool {
		return client.IgnoreNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)) == nil && !a.alive()
	})
	return true
}

// endRelation ends a relation for good, as a person does; its declarations stay, so that another begins.
func (w *chaosWorld) endRelation(target int) (ended bool) {
	all := w.allRelations()
	if len(all) == 0 {
		return false
	}
	r := &all[target%len(all)]
	if r.DeletionTimestamp != nil || r.State.Identity == "" {
		return false
	}
	w.journal.Ends(r.State.Identity)
	w.eventually("a person confirms the end", func() bool { return w.confirm(r.State.Identity) == nil })
	w.eventually("the relation is deleted", func() bool { return client.IgnoreNotFound(w.admin.Delete(w.ctx, r)) == nil })
	return true
}

// confirm lets the end of a relation reach handlers, however many end with it (TRUST.md T4).
func (w *chaosWorld) confirm(identity string) error {
	var sides v1alpha1.RelationSideList
	if err := w.admin.List(w.ctx, &sides, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelRelation: identity}); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.EndKey, v1alpha1.EndConfirm)
	for i := range sides.Items {
		if err := w.admin.Patch(w.ctx, &sides.Items[i], client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// allRelations returns the relations of the world's namespaces.
func (w *chaosWorld) allRelations() (all []v1alpha1.Relation) {
	for _, s := range w.spaces {
		var list v1alpha1.RelationList
		w.eventually("the relations are listed", func() bool { return w.admin.List(w.ctx, &list, client.InNamespace(s.namespace)) == nil })
		all = append(all, list.Items...)
	}
	return all
}

// longestPause is the longest pause between two steps.
const longestPause = 150 * time.Millisecond

// run carries out steps of a plan until ctx ends, and at least one round.
func (w *chaosWorld) run(ctx context.Context, seed uint64, admissions *chaosAdmissions) {
	shares := chaosShares()
	plan := chaos.NewPlan(seed, shares...)
	for done := 0; done < chaos.Round(shares) || ctx.Err() == nil; done++ {
		s := plan.Next()
		if w.do(s, admissions) {
			w.tally.Seen(s.Kind)
		}
		wait(w.ctx, time.Duration(s.Hold*float64(longestPause)))
	}
}
