package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

func madeBy(set, integration string) bundlev1alpha1.BundleDeployment {
	d := bundlev1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: integration}}
	d.Annotations = map[string]string{v1alpha1.IntegrationKey: integration}
	if set != "" {
		d.Labels = map[string]string{v1alpha1.SetLabel: set}
	}
	return d
}

// What a set would make again is not released (FLEET.md O4).
func TestReleasable(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(v1alpha1.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme)))
	for name, c := range map[string]struct {
		selects   []string
		set, want string
	}{
		"All":     {nil, "prod", "IntegrationSet prod selects it, and would make it again: set spec.integrations of the set to the integrations that it keeps, at present quay"},
		"Listed":  {[]string{"github", "quay"}, "prod", "IntegrationSet prod selects it"},
		"Without": {[]string{"quay"}, "prod", ""},
		"NoSet":   {nil, "", ""},
		"GoneSet": {nil, "gone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := &v1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}}
			set.Spec.Integrations = c.selects
			kinds := fake.NewClientBuilder().WithScheme(scheme).WithObjects(set).Build()
			r := releasable{kinds, "fleet", []bundlev1alpha1.BundleDeployment{madeBy("prod", "quay"), madeBy(c.set, "github"), madeBy("prod", "")}}
			found, err := r.members(t.Context(), "github")
			if c.want != "" {
				assert.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			assert.Len(t, found, 1)
		})
	}
	r := releasable{nil, "fleet", []bundlev1alpha1.BundleDeployment{madeBy("prod", "github-repos")}}
	_, err := r.members(t.Context(), "github-repo")
	assert.EqualError(t, err, `cannot release: namespace fleet has no member for "github-repo": did you mean "github-repos"?`)
	_, err = releasable{nil, "shop", nil}.members(t.Context(), "github-repos")
	assert.ErrorContains(t, err, "namespace shop has no members of an IntegrationSet")
}

// What a member deployed is left, whatever its policy became while the user was asked: nothing of it is deleted.
func TestReleaseOrphansMeanwhile(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, bundlev1alpha1.AddToScheme(scheme))
	d := madeBy("", "github")
	d.Spec.DeletionPolicy = bundlev1alpha1.DeletionPolicyOrphan
	var deleted []string
	kinds := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&d).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			var now bundlev1alpha1.BundleDeployment
			require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(o), &now))
			deleted = append(deleted, now.Spec.DeletionPolicy)
			return c.Delete(ctx, o, options...)
		},
	}).Build()
	require.NoError(t, kinds.Get(t.Context(), client.ObjectKeyFromObject(&d), &d))
	now := d.DeepCopy()
	now.Spec.DeletionPolicy = "Delete"
	require.NoError(t, kinds.Update(t.Context(), now))
	require.NoError(t, releasable{kinds, "fleet", nil}.release(t.Context(), d))
	assert.Equal(t, []string{bundlev1alpha1.DeletionPolicyOrphan}, deleted)
}

// A released member is deleted, and what it deployed is left.
func TestReleaseOrphans(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, bundlev1alpha1.AddToScheme(scheme))
	d := madeBy("", "github")
	d.Finalizers = []string{"orcon.tengu.io/bundle"}
	kinds := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&d).Build()
	ended := make(chan error)
	go func() { ended <- releasable{kinds, "fleet", nil}.release(t.Context(), d) }()
	var now bundlev1alpha1.BundleDeployment
	require.Eventually(t, func() bool {
		return kinds.Get(t.Context(), client.ObjectKeyFromObject(&d), &now) == nil && !now.DeletionTimestamp.IsZero()
	}, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, bundlev1alpha1.DeletionPolicyOrphan, now.Spec.DeletionPolicy)
	now.Finalizers = nil
	require.NoError(t, kinds.Update(t.Context(), &now))
	assert.NoError(t, <-ended)
}
