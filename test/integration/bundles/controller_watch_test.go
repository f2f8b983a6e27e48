package bundles

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/metadata"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundledeployment"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// watching runs a controller that watches, and looks by itself only after a resync.
func (w *operated) watching(resync time.Duration) {
	w.t.Helper()
	w.controller(func(r *bundledeployment.Reconciler, m manager.Manager) {
		watches := metadata.New(w.config, m.GetRESTMapper(), resync, r.Changed)
		r.Watches, r.Resync = watches, resync
		require.NoError(w.t, m.Add(watches))
	})
}

// requests are those that a controller makes.
type requests struct {
	mu  sync.Mutex
	all []string
}

// record notes the controller's requests as "user METHOD path?query".
func (w *operated) record() *requests {
	var r requests
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return controlplane.RoundTrip(func(q *http.Request) (*http.Response, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all = append(r.all, q.Header.Get("Impersonate-User")+" "+q.Method+" "+q.URL.RequestURI())
			return next.RoundTrip(q)
		})
	})
	return &r
}

// of returns the requests with all of some texts.
func (r *requests) of(texts ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, one := range r.all {
		fits := true
		for _, text := range texts {
			fits = fits && strings.Contains(one, text)
		}
		if fits {
			all = append(all, one)
		}
	}
	return all
}

// healthy returns the message of condition Healthy.
func (w *operated) healthy(d *v1alpha1.BundleDeployment) string {
	w.t.Helper()
	require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
	if c := meta.FindStatusCondition(d.Status.Conditions, string(bundle.Healthy)); c != nil {
		return c.Message
	}
	return ""
}

// What others delete or edit is put right long before the next look, as the deployment's own
// account sees it, and the Events and Ready tell of it meanwhile (BUNDLES.md 12). Secrets are
// neither listed nor watched (SAFETY.md S2).
func TestDeploymentSeesChanges(t *testing.T) {
	t.Parallel()
	const resync = time.Hour // longer than the test
	w := newOperated(t)
	requests := w.record()
	w.watching(resync)
	d := w.bundle(blue + extra + secret + strings.Replace(broken, "spec:", "spec:\n  replicas: 0", 1))
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.settle(d)

	began := time.Now()
	require.NoError(t, w.client.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, "colour", metav1.DeleteOptions{}))
	controlplane.Eventually(t, func() bool { return w.configMaps()["colour"] != nil }, soon)
	t.Logf("a deletion was undone after %s", time.Since(began).Round(10*time.Millisecond))
	w.eventually("Drifted", "ConfigMap "+w.namespace+"/colour was deleted; Orcon is correcting it")
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/colour was deleted; Orcon created it again")

	began = time.Now()
	w.change("extra", "a", "edited")
	controlplane.Eventually(t, func() bool { return w.configMaps()["extra"]["a"] == "b" }, soon)
	t.Logf("an edit was undone after %s", time.Since(began).Round(10*time.Millisecond))
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/extra was changed (data.a); Orcon undid the change")
	w.settle(d)
	assert.Equal(t, "every object is up to date and healthy; Orcon looks for changes by others every 1h0m", w.healthy(d))
	assert.EqualValues(t, 1, d.Status.ActiveRevision)

	account := "system:serviceaccount:" + w.namespace + ":default GET"
	assert.Len(t, requests.of(account, "/configmaps?", "watch=true"), 1, "one watch for each kind and namespace")
	assert.NotEmpty(t, requests.of(account, "/apis/apps/v1/namespaces/"+w.namespace+"/deployments?", "labelSelector=orcon.tengu.io"))
	for _, request := range requests.of("/secrets?") {
		assert.NotContains(t, request, " GET ", "Secrets are read by their names")
	}
	for _, request := range requests.of("watch=true") {
		path, _, _ := strings.Cut(request, "?")
		assert.True(t, strings.HasPrefix(request, account) || strings.Contains(path, "/orcon.tengu.io/"), "the controller watches its own kinds alone: %s", request)
	}

	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, func() bool { return len(w.made()) == 0 }, soon)
}

// settle waits until a deployment is healthy.
func (w *operated) settle(d *v1alpha1.BundleDeployment) {
	w.t.Helper()
	assert.Contains(w.t, w.ready(d, "Healthy"), "up to date and healthy")
}

// restrict leaves the namespace's account what a bundle of ConfigMaps needs, and other verbs for
// them, and waits until the API server knows.
func (w *operated) restrict(verbs ...string) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "create", "update", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: append(verbs, "get", "create", "patch", "delete")},
	}}
	require.NoError(w.t, w.admin.Update(w.ctx, role), "a role may be created by that")
	if w.client.RbacV1().RoleBindings(w.namespace).Delete(w.ctx, "admin", metav1.DeleteOptions{}) == nil {
		require.NoError(w.t, w.admin.Create(w.ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "restricted"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "default"}},
		}))
	}
	controlplane.Eventually(w.t, func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + w.namespace + ":default",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.namespace, Verb: "watch", Resource: "configmaps"},
		}}
		return w.admin.Create(w.ctx, review) == nil && review.Status.Allowed == slices.Contains(verbs, "watch")
	}, soon)
}

// An account that may not watch still has changes undone at the next look, which Healthy says, and
// is not asked again all the time. Once it may, changes are seen (BUNDLES.md 9, 12).
func TestDeploymentMayNotWatch(t *testing.T) {
	t.Parallel()
	const resync = 3 * time.Second
	w := newOperated(t)
	w.restrict()
	requests := w.record()
	w.watching(resync)
	d := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.settle(d)
	unwatched := "every object is up to date and healthy; Orcon looks for changes by others every 3s; changes to configmaps in namespace " +
		w.namespace + " are found only then: the account may not list and watch them"
	controlplane.Eventually(t, func() bool { return w.healthy(d) == unwatched }, soon)
	began := time.Now()
	require.NoError(t, w.client.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, "colour", metav1.DeleteOptions{}))
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/colour was deleted; Orcon created it again")
	w.settle(d)
	assert.Equal(t, unwatched, w.healthy(d))
	tries := len(requests.of(":default GET", "/configmaps?", "watch=true"))
	assert.LessOrEqual(t, tries, 2+int(time.Since(began)/resync)+2, "what is forbidden is left alone for a while")

	w.restrict("list", "watch")
	controlplane.Eventually(t, func() bool {
		return w.healthy(d) == "every object is up to date and healthy; Orcon looks for changes by others every 3s"
	}, soon)
}

// An object that changes all the time has its deployment looked at every few seconds, and keeps
// the controller from no other (BUNDLES.md 12).
func TestDeploymentChangesAllTheTime(t *testing.T) {
	t.Parallel()
	const resync, changes = time.Hour, 10
	w := newOperated(t)
	requests := w.record()
	w.watching(resync)
	restless := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, restless))
	w.source("content-other", extra)
	other := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other"}}
	other.Spec.Sources = []v1alpha1.BundleSource{{Reference: "configmaps:content-other"}}
	require.NoError(t, w.admin.Create(w.ctx, other))
	w.settle(restless)
	w.settle(other)

	end, ended := make(chan struct{}), make(chan int)
	go func() { // an annotation is nobody's drift
		made := 0
		for tick := time.NewTicker(time.Second / changes); ; {
			select {
			case <-end:
				ended <- made
				return
			case now := <-tick.C:
				patch := `{"metadata":{"annotations":{"now":"` + now.String() + `"}}}`
				if _, err := w.client.CoreV1().ConfigMaps(w.namespace).Patch(w.ctx, "colour", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err == nil {
					made++
				}
			}
		}
	}()
	looks := func() int {
		return len(requests.of(" GET ", "/bundledeployments/shop"))
	}
	before, began := looks(), time.Now()
	for range 3 {
		w.change("extra", "a", "edited")
		controlplane.Eventually(t, func() bool { return w.configMaps()["extra"]["a"] == "b" }, soon, "the other is corrected")
		w.settle(other)
	}
	controlplane.Eventually(t, func() bool { return looks() >= before+2 }, soon, "the restless one is looked at too")
	most := int(time.Since(began)/(4*time.Second)) + 2
	assert.LessOrEqual(t, looks()-before, most, "and not for each change")
	close(end)
	assert.Greater(t, <-ended, 3*most, "it did change all the time")
}
