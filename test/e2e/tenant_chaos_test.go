//go:build chaos

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The times of a cluster that meets faults.
const (
	// longestTrouble is how long a node or one of its parts is away at most.
	longestTrouble = 20 * time.Second
	// longestRest is the longest pause between two steps.
	longestRest = 4 * time.Second
	// longestTry is how long a step may look for something that it can do.
	longestTry = time.Minute
	// calm is how long the cluster may take to settle after the last step: a kubelet waits up to five minutes before it
	// starts a container that has often been killed.
	calm = 10 * time.Minute
)

// secondNode is the node that can be cut off; the first one has the control plane.
const secondNode = "orcon-node-2"

// city is the shipped PostgreSQL example with tenants in three namespaces, on two nodes.
type city struct {
	*world
	spaces  []*world
	tenants map[string]*tenancy
	left    []*tenancy
	made    int
	tally   *chaos.Tally
	// ground is a folder for what no fault reaches: PostgreSQL's data, and what tenants note.
	ground string
}

// Pods are deleted, containers, agents, kubelets and container engines killed, a node is cut off, controllers, webhooks,
// the API server and etcd are killed, and tenants come and go, on real kubelets. Afterwards PostgreSQL has each row that
// it acknowledged, in the database of its tenant and in no other; each unit of PostgreSQL's application reads what each
// unit of a tenant has written last; and nothing of the relations of tenants that have left remains, nor of their passwords
// (TRUST.md, "Shown by").
func TestTenantsLoseNothing(t *testing.T) {
	setting := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		require.NoError(t, err, name)
		return n
	}
	seed, minutes := setting("SEED"), setting("MINUTES")
	c := newCity(t)
	began := time.Now()
	c.settled(began)
	t.Logf("%d tenants settled after %s", len(c.tenants), time.Since(began).Round(time.Second))
	began = time.Now()
	shares := citySteps()
	plan := chaos.NewPlan(uint64(seed), shares...)
	for done := 0; done < chaos.Round(shares) || time.Since(began) < time.Duration(minutes)*time.Minute; done++ {
		s := plan.Next()
		if c.does(s) {
			c.tally.Seen(s.Kind)
		}
		<-time.After(time.Duration(s.Hold * float64(longestRest)))
	}
	last := time.Now()
	t.Logf("seed %d, %s:\n%s", seed, last.Sub(began).Round(time.Second), c.tally)
	c.settled(last)
	rows, writes, pause := c.sums()
	t.Logf("settled %s after the last step; %d rows and %d writes of tenants acknowledged; "+
		"the longest pause of a tenant between two rows was %s; %d tenants have left",
		time.Since(last).Round(time.Second), rows, writes, pause.Round(time.Second), len(c.left))
	for _, share := range shares {
		assert.Positive(t, c.tally.Count(share.Kind), share.Kind)
	}
}

// citySteps returns the steps of a round, in an order that is always the same.
func citySteps() []chaos.Share {
	var shares []chaos.Share
	for kind, times := range map[chaos.Kind]int{
		chaos.AgentKilled: 3, chaos.ContainerKilled: 3, chaos.PodDeleted: 2, chaos.PodErased: 1, chaos.KubeletKilled: 1,
		chaos.EngineKilled: 1, chaos.NodeCut: 1, chaos.ControllerKilled: 1, chaos.WebhookKilled: 1, chaos.APIServerKilled: 1,
		chaos.EtcdKilled: 1, chaos.RelationEnded: 1, chaos.TenantAdded: 1,
	} {
		shares = append(shares, chaos.Share{Kind: kind, Times: times})
	}
	slices.SortFunc(shares, func(a, b chaos.Share) int { return cmp.Compare(a.Kind, b.Kind) })
	return shares
}

// newCity starts the cluster, with five tenants.
func newCity(t *testing.T) *city {
	t.Helper()
	ground := t.TempDir() // it goes after the cluster, whose pods write into it
	cluster := ownOrcon(t, "--nodes", "2")
	cluster.Kubectl(t, "uncordon", secondNode)
	loadPostgreSQL(t, cluster)
	shop := &world{Cluster: cluster, t: t, client: cluster.Client(t), objects: objects(t, cluster), namespace: "shop"}
	c := &city{
		world: shop, spaces: []*world{shop, shop.in("shop-2"), shop.in("shop-3")},
		tenants: map[string]*tenancy{}, tally: &chaos.Tally{}, ground: ground,
	}
	t.Cleanup(c.explain)
	c.database()
	for _, space := range c.spaces[1:] {
		space.makeNamespace(map[string]string{application.LabelOptIn: application.OptedIn})
	}
	c.apply("apiVersion: orcon.tengu.io/v1alpha1\nkind: Offer\nmetadata: {name: postgres}\n" +
		"spec: {application: postgres, endpoint: database, consumers: [shop-2, shop-3]}\n")
	for range 5 {
		require.NoError(t, c.comes())
	}
	return c
}

// explain shows all pods and the ends of their logs if the test has failed.
func (c *city) explain() {
	if !c.t.Failed() {
		return
	}
	for _, space := range c.spaces {
		space.tell()
	}
}

// database deploys the example without its shop. PostgreSQL's data stays when its pod goes.
func (c *city) database() {
	c.t.Helper()
	data, overlay := filepath.Join(c.ground, "data"), filepath.Join(c.ground, "overlay")
	require.NoError(c.t, errors.Join(os.Mkdir(data, 0o700), os.Mkdir(overlay, 0o700), os.Chown(data, 65532, 65532)))
	example, err := filepath.Rel(overlay, deployment(c.t, "examples/postgresql"))
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), fmt.Appendf(nil, cityExample, example, data), 0o600))
	c.Kubectl(c.t, "apply", "-k", overlay)
}

// comes adds a tenant in the next namespace. Every second one has two units.
func (c *city) comes() error {
	space, name := c.spaces[c.made%len(c.spaces)], fmt.Sprintf("tenant-%d", c.made+1)
	journal := filepath.Join(c.ground, name)
	// The user of the pods is another one.
	if err := errors.Join(os.MkdirAll(journal, 0o700), os.Chmod(journal, 0o777)); err != nil {
		return err
	}
	provider := "postgres"
	if space.namespace != c.namespace {
		provider += "." + c.namespace
	}
	out, err := space.tryWith(fmt.Sprintf(cityTenant, name, provider, 1+c.made%2, journal), "apply", "-f", "-")
	if err != nil {
		return fmt.Errorf("%s does not come: %w: %s", name, err, out)
	}
	c.made++
	c.tenants[name] = &tenancy{world: space, name: name, journal: journal}
	return nil
}

// leaves takes a tenant away for good, as a person does: the end is confirmed, so that it is not held beside others, the
// workload goes, and then the relation. No unit is left that could handle the tenant's own end, so that it is waived.
func (c *city) leaves(target int) error {
	names := slices.Sorted(maps.Keys(c.tenants))
	leaving := c.tenants[names[target%len(names)]]
	side, err := c.sideOf(leaving, v1alpha1.RoleProvider)
	if err != nil {
		return err
	}
	if side == nil {
		return errors.New("PostgreSQL's application has no side of its relation with " + leaving.name)
	}
	orcon := controlplane.Binary(c.t, "orcon")
	if code, out := c.orcon(orcon, "ends", "confirm", side.Name); code != 0 {
		return fmt.Errorf("the end of %s is not confirmed: %s", leaving.name, out)
	}
	leaving.identity = side.Spec.Relation
	delete(c.tenants, leaving.name)
	c.left = append(c.left, leaving)
	leaving.kubectl("delete", "deployment/"+leaving.name, "configmap/"+leaving.name, "--cascade=foreground", "--timeout="+calm.String())
	relations := "{.items[?(@.spec.requirer.application==\"" + leaving.name + "\")].metadata.name}"
	if relation := leaving.kubectl("get", "relations", "-o", "jsonpath="+relations); relation != "" {
		leaving.kubectl("delete", "relation", relation, "--ignore-not-found", "--timeout="+calm.String())
	}
	c.eventually(func() string {
		side, err := leaving.sideOf(leaving, v1alpha1.RoleRequirer)
		switch {
		case err != nil:
			return err.Error()
		case side == nil:
			return ""
		}
		_, out := leaving.orcon(orcon, "ends", "waive", side.Name)
		return out
	})
	return nil
}

// sideOf returns the side of a tenant's relation that the namespace has in a role; nil for none.
func (w *world) sideOf(o *tenancy, role string) (*v1alpha1.RelationSide, error) {
	var sides v1alpha1.RelationSideList
	if err := w.objects.List(w.t.Context(), &sides, client.InNamespace(w.namespace)); err != nil {
		return nil, err
	}
	for _, s := range sides.Items {
		if s.Spec.Role == role && s.Spec.Requirer.Application == o.name {
			return &s, nil
		}
	}
	return nil, nil
}

// does carries out a step once there is something that it can do, and reports whether its effect was seen.
func (c *city) does(s chaos.Step) bool {
	began := time.Now()
	err := c.do(s)
	for ; err != nil && time.Since(began) < longestTry; err = c.do(s) {
		<-time.After(time.Second)
	}
	c.t.Logf("%s from %s to %s", s.Kind, began.Format(time.TimeOnly), time.Now().Format(time.TimeOnly))
	if err != nil {
		c.t.Logf("%s has no effect: %v", s.Kind, err)
	}
	return err == nil
}

// do carries out a step, and returns why it has no effect.
func (c *city) do(s chaos.Step) error {
	node := []string{"", "-2"}[s.Target%2]
	switch s.Kind {
	case chaos.AgentKilled:
		return c.kill(c.pod(s.Target, true), 0, func(container string) bool { return container == injection.AgentContainer })
	case chaos.ContainerKilled:
		return c.kill(c.pod(s.Target, true), s.Target>>8, func(container string) bool { return container != injection.AgentContainer })
	case chaos.PodDeleted:
		return c.deletes(c.pod(s.Target, true))
	case chaos.PodErased: // not PostgreSQL's: two would use its data at a time
		return c.deletes(c.pod(s.Target, false), client.GracePeriodSeconds(0))
	case chaos.ControllerKilled:
		return c.killServer(controllerName, s.Target)
	case chaos.WebhookKilled:
		return c.killServer(webhookName, s.Target)
	case chaos.KubeletKilled:
		return c.restarts("kubelet"+node, s)
	case chaos.EngineKilled:
		return c.restarts("containerd"+node, s)
	case chaos.APIServerKilled:
		return c.restarts("kube-apiserver", s)
	case chaos.EtcdKilled:
		return c.restarts("etcd", s)
	case chaos.NodeCut:
		return c.cutsOff(s)
	case chaos.RelationEnded:
		return c.leaves(s.Target)
	default:
		return c.comes()
	}
}

// restarts kills a component, starts it again after a while, and waits until the API server answers.
func (c *city) restarts(component string, s chaos.Step) error {
	c.Kill(c.t, component)
	<-time.After(s.Outage(longestTrouble))
	c.StartComponent(c.t, component)
	c.eventually(func() string {
		if err := c.objects.List(c.t.Context(), &corev1.NamespaceList{}); err != nil {
			return err.Error()
		}
		return ""
	})
	return nil
}

// cutsOff takes the network of the second node away for a while.
func (c *city) cutsOff(s chaos.Step) error {
	kubelet := func() error {
		_, err := c.Try("get", "--raw", "/api/v1/nodes/"+secondNode+"/proxy/healthz", "--request-timeout=3s")
		return err
	}
	c.Run(c.t, "exec", "--", "ip", "link", "set", "n2", "down")
	cut := kubelet()
	<-time.After(s.Outage(longestTrouble))
	c.Run(c.t, "exec", "--", "ip", "link", "set", "n2", "up")
	if cut == nil {
		return errors.New("the API server reaches a node that is cut off")
	}
	c.eventually(func() string {
		if err := kubelet(); err != nil {
			return err.Error()
		}
		return ""
	})
	return nil
}

// alive returns the pods of a namespace that are not being deleted.
func (w *world) alive(labels ...client.ListOption) []corev1.Pod {
	var list corev1.PodList
	if w.objects.List(w.t.Context(), &list, append(labels, client.InNamespace(w.namespace))...) != nil {
		return nil
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// pod chooses a pod of a tenant, or also PostgreSQL's, which is every fourth: all tenants need it.
func (c *city) pod(target int, provider bool) *corev1.Pod {
	var all, tenants []corev1.Pod
	for _, space := range c.spaces {
		all = append(all, space.alive()...)
	}
	for _, p := range all {
		if p.Labels["app"] != "postgres" {
			tenants = append(tenants, p)
		} else if provider && target%4 == 0 {
			return &p
		}
	}
	if len(tenants) == 0 {
		return nil
	}
	return &tenants[target/4%len(tenants)]
}

// deletes deletes a pod.
func (c *city) deletes(p *corev1.Pod, options ...client.DeleteOption) error {
	if p == nil {
		return errors.New("no pod is there")
	}
	c.t.Log("deletes pod " + p.Name)
	return c.objects.Delete(c.t.Context(), p, options...)
}

// killServer kills a replica of one of Orcon's servers.
func (c *city) killServer(name string, target int) error {
	all := c.in("orcon-system").alive(client.MatchingLabels{"app.kubernetes.io/name": name})
	if len(all) == 0 {
		return errors.New("no replica of " + name + " is there")
	}
	return c.kill(&all[target%len(all)], 0, func(container string) bool { return container == name })
}

// kill kills a running container of a pod, one of those that fit.
func (c *city) kill(p *corev1.Pod, target int, fits func(container string) bool) error {
	if p == nil {
		return errors.New("no pod is there")
	}
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	running := slices.DeleteFunc(all, func(s corev1.ContainerStatus) bool { return s.State.Running == nil || !fits(s.Name) })
	if len(running) == 0 {
		return errors.New("no container of pod " + p.Name + " that fits runs")
	}
	victim := running[target%len(running)]
	pids := processesOf(strings.TrimPrefix(victim.ContainerID, "containerd://"))
	if len(pids) == 0 {
		return fmt.Errorf("container %s of pod %s has no process", victim.Name, p.Name)
	}
	c.t.Logf("kills container %s of pod %s", victim.Name, p.Name)
	return syscall.Kill(pids[0], syscall.SIGKILL)
}
