package integration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// manifests are those of a release: the policies that hold its accounts, and what its programs need.
type manifests struct{ policies, others string }

// manifestsOf returns the manifests of a folder with sources.
func manifestsOf(t *testing.T, cluster *controlplane.Cluster, sources string) manifests {
	t.Helper()
	var policies, others []string
	for _, folder := range []string{"crd", "rbac"} {
		text := cluster.Kubectl(t, "kustomize", filepath.Join(sources, "deployment", folder))
		for o := range strings.SplitSeq(text, "\n---\n") {
			if strings.Contains(o, "\nkind: ValidatingAdmissionPolicy") {
				policies = append(policies, o)
			} else {
				others = append(others, o)
			}
		}
	}
	require.NotEmpty(t, policies)
	write := func(name string, all []string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(all, "\n---\n")), 0o600))
		return path
	}
	return manifests{write("policies.yaml", policies), write("others.yaml", others)}
}

// release has the manifests and the controller of one release.
type release struct {
	manifests

	controller string
}

// skewWorld is a cluster with replicas of one release or two.
type skewWorld struct {
	*controllerWorld
	kubeconfig string
	running    []*controllerProcess
	ended      []*controllerProcess
}

// The policies of the oldest supported release and of this one admit the writes of both, with replicas of both, each as the
// leader: whichever of policies and controllers is replaced or rolled back first (TRUST.md R1).
func TestPoliciesAdmitTwoReleases(t *testing.T) {
	t.Parallel()
	sources := controlplane.OldestSupported(t)
	root, err := controlplane.Root()
	require.NoError(t, err)
	cluster := controlplane.Start(t)
	before := release{manifestsOf(t, cluster, sources), controlplane.Built(t, sources, "relations-controller")}
	after := release{manifestsOf(t, cluster, root), controlplane.Binary(t, "relations-controller")}
	apply := func(files ...string) func() {
		return func() {
			for _, file := range files {
				cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file)
			}
			cluster.Established(t)
		}
	}
	apply(before.others, before.policies)()
	held(t, cluster)
	w := &skewWorld{controllerWorld: newWorldIn(t, cluster)}
	w.kubeconfig = w.kubeconfigOf(controllerUser)
	w.running = []*controllerProcess{w.startProcess(before.controller, w.kubeconfig), w.startProcess(before.controller, w.kubeconfig)}
	replace := func(replica int, by release) func() { return func() { w.replace(replica, by) } }
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the release before", func() {}},
		{"policies first", apply(after.policies)},
		{"one new replica, an old one leads", func() { apply(after.others)(); w.replace(0, after) }},
		{"an old replica, the new one leads", replace(1, before)},
		{"this release", replace(1, after)},
		{"controllers first, or rolled back with policies first", apply(before.policies)},
		{"one old replica, a new one leads", replace(0, before)},
		{"a new replica, the old one leads", replace(1, after)},
	} {
		t.Log(step.name)
		step.do()
		w.writes()
	}
	for _, p := range append(w.running, w.ended...) {
		assert.NotContains(t, p.said.String(), "forbidden")
		assert.NotContains(t, p.said.String(), "ValidatingAdmissionPolicy")
	}
}

// commitsSecret commits writes as the leader of the application, which may be out of reach while leaders change.
func (w *controllerWorld) commitsSecret(s *speaker, changes []*wire.Change, writes ...*wire.SecretWrite) {
	w.t.Helper()
	term := w.leads(s)
	w.eventually("the commit is taken", func() bool {
		err := w.secrets(s, term, changes, writes...)
		if connect.CodeOf(err) == connect.CodeUnavailable {
			return false
		}
		require.NoError(w.t, err)
		return true
	})
}

// replace ends a replica and starts one of a release in its place. The other one leads then.
func (w *skewWorld) replace(replica int, by release) {
	w.t.Helper()
	p := w.running[replica]
	require.NoError(w.t, p.cmd.Process.Signal(syscall.SIGTERM))
	_ = p.cmd.Wait()
	w.ended = append(w.ended, p)
	w.running[replica] = w.startProcess(by.controller, w.kubeconfig)
}

// speakerAt opens a stream of a Deployment's pod to a process.
func (w *controllerWorld) speakerAt(p *controllerProcess, deployment, address string) *speaker {
	w.t.Helper()
	pod := w.podOf(deployment)
	w.addressed(pod, address)
	s := &speaker{pod: pod, token: w.token(pod, identity.Audience)}
	s.api = relationsv1alpha1connect.NewRelationsServiceClient(p.client(), p.api)
	s.stream = w.openStream(p.client(), p.api, &wire.Hello{Token: s.token}, 3*soon)
	return s
}

// writes has the controllers write, in a new namespace, all that policies hold them to: relations, sides, bags, records and
// the count, the contents of a secret by each replica, the template of a workload, and what the end of a relation changes.
func (w *skewWorld) writes() {
	w.t.Helper()
	in := w.another()
	declared := consumes("store:pg", "db")
	declared[application.KeyOnChange] = "restart"
	db := in.consumer("db", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"})
	db.Annotations = map[string]string{application.PrefixData + "main": "host: one"}
	web := in.consumer("web", declared)
	in.create(db, web)
	in.eventually("the first data is known", func() bool {
		r := in.app("web").State.Restarts
		return r != nil && len(r.Versions) == 1
	})
	uid, write := "", adding(dbPassword)
	var s *speaker
	for _, p := range w.running {
		s = in.speakerAt(p, "db", "10.9.6.1")
		uid = one(hears(w.t, s.stream, "its relation", func(s *wire.Snapshot) bool { return one(s) != nil && s.GetUnit().GetKnown() })).GetUid()
		in.commitsSecret(s, []*wire.Change{change(uid, true, "replica", p.api)}, write, granting(uid))
		write = setting("another " + p.api)
	}
	in.change(db, func() { db.Annotations[application.PrefixData+"main"] = "host: two" })
	in.eventually("a rollout", func() bool {
		require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(web), web))
		return web.Spec.Template.Annotations[application.KeyDataVersion] != ""
	})
	ended := in.relations()["db"]
	require.NoError(w.t, w.admin.Delete(w.ctx, &ended))
	hears(w.t, s.stream, "the end", func(s *wire.Snapshot) bool { return one(s) != nil && one(s).GetEnded() })
	_, err := s.api.Leave(w.ctx, asking(s, &wire.LeaveRequest{Relation: uid, Handled: true}))
	require.NoError(w.t, err)
	in.eventually("the next relation", func() bool {
		next := in.relations()["db"]
		return next.State.Identity != "" && next.State.Identity != uid
	})
}
