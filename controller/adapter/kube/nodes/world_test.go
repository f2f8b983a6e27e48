package nodes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// now is the time of all tests.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// errAway is the error of an API server that does not answer.
var errAway = errors.New("no answer")

// cluster returns a client of an API server with objects. away has each read fail.
func cluster(t *testing.T, away *bool, objects ...client.Object) client.WithWatch {
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.RunNode{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, all ...client.GetOption) error {
				if *away {
					return errAway
				}
				return c.Get(ctx, key, o, all...)
			},
			List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, all ...client.ListOption) error {
				if *away {
					return errAway
				}
				return c.List(ctx, o, all...)
			},
		}).Build()
}

// runNode returns RunNode lab.
func runNode() *v1alpha1.RunNode {
	return &v1alpha1.RunNode{
		ObjectMeta: metav1.ObjectMeta{Name: "lab", Labels: map[string]string{"site": "a"}},
		Spec:       v1alpha1.RunNodeSpec{Namespaces: []string{"shop"}, Capacity: 3},
	}
}
