package schema

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// shelf is a World with versions of some interfaces.
type shelf struct {
	versions map[string][]string
	judged   []string
	failed   error
}

func (s *shelf) Judge(_ context.Context, name string) error {
	s.judged = append(s.judged, name)
	return s.failed
}

func (s *shelf) Versions(_ context.Context, of string) []string { return s.versions[of] }

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

func TestReconcileJudges(t *testing.T) {
	s := &shelf{}
	_, err := (&Reconciler{World: s}).Reconcile(t.Context(), request("flags-v1"))
	require.NoError(t, err)
	assert.Equal(t, []string{"flags-v1"}, s.judged)
	s.failed = errors.New("the API server is out of reach")
	_, err = (&Reconciler{World: s}).Reconcile(t.Context(), request("flags-v1"))
	require.ErrorIs(t, err, s.failed, "so that it is tried again")
}

// What is said of a version may depend on another (RELATIONS.md, Interfaces): all
// of them are looked at again.
func TestOneVersionConcernsTheOthers(t *testing.T) {
	r := &Reconciler{World: &shelf{versions: map[string][]string{"flags": {"flags-v1", "flags-v2"}, "other": {"other-v1"}}}}
	o := &v1alpha1.Interface{Spec: v1alpha1.InterfaceSpec{Name: "flags"}}
	assert.Equal(t, []reconcile.Request{request("flags-v1"), request("flags-v2")}, r.versions(t.Context(), o))
	assert.Empty(t, r.versions(t.Context(), &corev1.Namespace{}))
}
