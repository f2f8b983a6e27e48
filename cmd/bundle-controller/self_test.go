package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// A chart that mounts a token alone over the folder of the account hides the authority of the cluster: the error names the cure.
func TestVerifiable(t *testing.T) {
	inPod := rest.Config{Host: "https://10.0.0.1", BearerToken: "x", BearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token"}
	require.ErrorContains(t, verifiable(&inPod), "give its parameter KUBE_SA_TOKEN_MOUNT_PATH another folder")
	mounted := inPod
	mounted.CAFile = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
	require.NoError(t, verifiable(&mounted))
	require.NoError(t, verifiable(&rest.Config{Host: "http://localhost:8080"}), "outside of a pod")
}

// A controller that the data deploy knows its images and its account from its pod (FLEET.md O6).
func TestSelf(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "tools")
	host, err := os.Hostname()
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tools", Name: host}, Spec: corev1.PodSpec{
		ServiceAccountName: "qontract-reconcile", Containers: []corev1.Container{{Image: "orcon:1"}, {Image: "fluentd:1"}},
	}}
	s := settings{namespace: "orcon-system"}
	inPod := fake.NewClientBuilder().WithScheme(clientscheme.Scheme).WithObjects(pod).Build()

	is, account, err := self(t.Context(), inPod, s)
	require.NoError(t, err)
	assert.Equal(t, integrationset.Self{}, is)
	assert.Equal(t, "orcon-system:bundle-controller", account)

	s.integration = "manager"
	is, account, err = self(t.Context(), inPod, s)
	require.NoError(t, err)
	assert.Equal(t, integrationset.Self{Integration: "manager", Namespace: "tools", Images: []string{"orcon:1", "fluentd:1"}}, is)
	assert.Equal(t, "tools:qontract-reconcile", account)

	is, _, err = self(t.Context(), fake.NewClientBuilder().WithScheme(clientscheme.Scheme).Build(), s)
	require.NoError(t, err)
	assert.Empty(t, is.Images, "outside of a pod")

	closed := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, host, nil)
		},
	})
	_, _, err = self(t.Context(), closed, s)
	require.ErrorContains(t, err, "let its ServiceAccount get pods in namespace tools")
}
