package integration

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// backup has the objects of some namespaces, one file for each kind, in the order in which they are created again. The API
// server takes neither the status nor the UID of an object that is created.
type backup []string

// restoredKinds lists the kinds that docs/how-to/restore.md saves, in the order in which backup tools create them.
const restoredKinds = "databags,offers,relatedapplications,relatednamespaces,relatedsecrets,relations,relationsides"

// save saves what is found in a place, which is an argument of kubectl, of some kinds with their selectors.
func (w *chaosWorld) save(place string, kinds ...string) (saved backup) {
	w.t.Helper()
	for _, kind := range kinds {
		text := w.cluster.Kubectl(w.t, append([]string{"get", place, "-o", "yaml"}, strings.Fields(kind)...)...)
		if strings.Contains(text, "items: []") {
			continue
		}
		file := filepath.Join(w.t.TempDir(), "objects.yaml")
		require.NoError(w.t, os.WriteFile(file, []byte(text), 0o600))
		saved = append(saved, file)
	}
	return saved
}

// administrate runs orcon as the administrator of the cluster.
func (w *controllerWorld) administrate(arguments ...string) {
	w.t.Helper()
	command := exec.CommandContext(w.ctx, controlplane.Binary(w.t, "orcon"), append(arguments, "--kubeconfig", w.cluster.Kubeconfig)...)
	out, err := command.CombinedOutput()
	require.NoError(w.t, err, string(out))
}

// secretsOfOrcon selects the Secrets that hold the contents of secrets.
const secretsOfOrcon = "secrets -l app.kubernetes.io/part-of=orcon"

// keeps returns what all namespaces hold.
func (w *chaosWorld) keeps() (all []keepsakes) {
	for _, s := range w.spaces {
		all = append(all, s.keepsakes())
	}
	return all
}

// same asserts that relations have the identities, ids and sides that they had.
func (w *chaosWorld) same(before []keepsakes) {
	w.t.Helper()
	for i, s := range w.spaces {
		now := s.keepsakes()
		for name, r := range before[i].relations {
			assert.Equal(w.t, r, now.relations[name], name)
		}
		for name, side := range before[i].sides {
			assert.Equal(w.t, side, now.sides[name], name)
		}
	}
}

// without returns what namespaces hold besides one relation.
func without(all []keepsakes, identity string) []keepsakes {
	for _, k := range all {
		maps.DeleteFunc(k.relations, func(_ string, r relationStored) bool { return r.identity == identity })
		maps.DeleteFunc(k.sides, func(_ string, s v1alpha1.RelationSideSpec) bool { return s.Relation == identity })
	}
	return all
}

// shareSecret has the bank make a secret and grant it to all its tenants. It returns the id.
func (w *chaosWorld) shareSecret() (id string) {
	w.t.Helper()
	w.calmly("the bank shares a secret", func() string {
		for _, a := range w.node.all() {
			if leads, _ := a.tool(w.ctx, nil, "is-leader"); a.application != chaosBank || leads != "True" {
				continue
			}
			if id == "" {
				made, ok := a.tool(w.ctx, nil, "secret-add", "token=of-the-bank")
				if !ok {
					return "it is not made"
				}
				id = made
			}
			for relation := range w.users.tenants(w.ctx, a) {
				if _, ok := a.tool(w.ctx, nil, "secret-grant", id, "-r", relation); !ok {
					return relation + " is not granted"
				}
			}
			return ""
		}
		return "nothing leads"
	})
	return id
}

// readSecret waits until each tenant but those has read the secret.
func (w *chaosWorld) readSecret(id string, but ...string) {
	w.t.Helper()
	w.calmly("each tenant reads the secret", func() string {
		for _, a := range w.node.all() {
			if a.application == chaosBank || slices.Contains(but, a.application) {
				continue
			}
			if token, ok := a.tool(w.ctx, nil, "secret-get", id, "token"); !ok || token != "of-the-bank" {
				return a.pod + " reads " + token
			}
		}
		return ""
	})
}

// recreate creates the objects of a backup again. What a controller has made meanwhile under their names is an error.
func (w *chaosWorld) recreate(saved backup) {
	w.t.Helper()
	for _, file := range saved {
		w.cluster.Kubectl(w.t, "create", "-f", file)
	}
}

// The definitions are deleted with all objects of their kinds, made again, and their objects restored without status,
// while all agents live. Every reader then equals the store, relations go on under their ids and identities, no handler
// runs for the end of one, and secrets find their content (TRUST.md T5).
func TestDefinitionsAreRestored(t *testing.T) {
	t.Parallel()
	cluster := controlplane.Start(t)
	install(t, cluster)
	home := newWorldIn(t, cluster)
	w := newChaosWorldIn(t, func(name string) string { return controlplane.Binary(t, name) }, home, home.another(), home.another())
	w.open()
	for range 3 {
		require.NoError(t, w.tenant())
	}
	w.settled("at first")
	secret := w.shareSecret()
	w.readSecret(secret)
	before := w.keeps()
	var saved backup
	w.paused(func() { saved = w.save("--all-namespaces", restoredKinds, secretsOfOrcon) })
	require.NoError(t, w.tenant())
	w.settled("with another tenant")

	w.paused(func() {
		w.journal.Restore()
		cluster.Kubectl(t, "annotate", "crd", "--all", "orcon.tengu.io/leave=keep")
		cluster.Kubectl(t, "delete", "crd", "--all", "--wait=false")
		awaitDefinitions(t, cluster, 1) // that of Relations, which their finalizers hold
		for _, c := range w.controllers {
			require.True(t, c.end(syscall.SIGTERM))
		}
		w.administrate("release", "--yes")
		awaitDefinitions(t, cluster, 0)
		cluster.Kubectl(t, "delete", "secrets", "-A", "-l", "app.kubernetes.io/part-of=orcon")
		install(t, cluster)
		w.recreate(saved)
		for _, c := range w.controllers {
			require.NoError(t, c.start())
		}
		w.tenants--
		w.calmly("each reader equals the restored store", w.unlikeStore)
		w.tenants++
		w.journal.Restored()
	})
	w.same(before)
	w.readSecret(secret, "tenant-4") // it was not granted
	w.settled("after the restore")
	w.same(before)
	assert.Empty(t, w.journal.Faults())
	w.nothingLeft()
}

// Namespaces are restored in another cluster, one after the other, while its controllers run and act between the kinds of
// objects: nothing is deleted for being unknown, relations go on under their ids and identities, secrets find their
// content, and those between namespaces once their Offers are renewed (TRUST.md T5, T8).
func TestNamespacesAreRestoredInAnotherCluster(t *testing.T) {
	t.Parallel()
	first := newChaosWorld(t)
	first.open()
	for range 5 {
		require.NoError(t, first.tenant())
	}
	first.settled("at first")
	require.True(t, first.endRelation(0))
	first.settled("after an end")
	secret := first.shareSecret()
	first.readSecret(secret)
	before := first.keeps()
	var saved []backup
	first.paused(func() {
		for _, s := range first.spaces {
			kinds := append(strings.Split(restoredKinds, ","), secretsOfOrcon, "services", "deployments")
			saved = append(saved, first.save("--namespace="+s.namespace, kinds...))
		}
	})
	first.endAll()

	cluster := controlplane.Start(t)
	install(t, cluster)
	var spaces []*controllerWorld
	in := newWorldIn(t, cluster)
	for _, s := range first.spaces {
		space := *in
		space.namespace = s.namespace
		spaces = append(spaces, &space)
	}
	w := newChaosWorldIn(t, func(name string) string { return controlplane.Binary(t, name) }, spaces...)
	w.journal, w.users.journal, w.tenants = first.journal, first.journal, first.tenants
	w.journal.Restore()
	w.restoreNamespace(0, saved[0])
	w.becomes(chaosBank, "Complete")
	w.restoreNamespace(1, saved[1])
	w.restoreNamespace(2, saved[2])
	w.same(before)
	w.journal.Restored()

	t.Log("a relation ends while it waits for its Offer: the bank, which knew it, is told")
	ended := w.spaces[2].relations()[chaosBank]
	before = without(before, ended.State.Identity)
	w.journal.Ends(ended.State.Identity)
	require.NoError(t, w.admin.Delete(w.ctx, &ended))
	w.calmly("its end is told", func() string { return strings.Join(w.journal.Owed(), ", ") })

	w.administrate("offer", "renew", "-A", "--yes")
	w.settled("after the restore")
	w.same(before)
	w.readSecret(secret, ended.Spec.Requirer.Application)
	assert.Empty(t, w.journal.Faults())
	w.nothingLeft()
}

// restoreNamespace makes a namespace again, and its objects, kind by kind. Controllers act in between.
func (w *chaosWorld) restoreNamespace(i int, saved backup) {
	w.t.Helper()
	s := w.spaces[i]
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.namespace, Labels: map[string]string{application.LabelOptIn: application.OptedIn},
	}})
	for _, file := range saved {
		w.marker("between")
		w.recreate(backup{file})
	}
}
