package networks_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/networks"
)

func node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"kubernetes.io/hostname": "a"}},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.244.1.0/24", "fd00:1::/64"}, ProviderID: "x"},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "192.168.1.7"}, {Type: corev1.NodeHostName, Address: "a"},
		}},
	}
}

// TestRead reads what the rules need, also of nodes that the cache has stripped.
func TestRead(t *testing.T) {
	stripped, err := networks.Strip(node())
	require.NoError(t, err)
	kept, ok := stripped.(*corev1.Node)
	require.True(t, ok)
	assert.Empty(t, kept.Labels)
	services := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}}
	c := fake.NewClientBuilder().WithScheme(clientscheme.Scheme).WithObjects(kept, services).Build()
	all, err := networks.Read(t.Context(), c)
	require.NoError(t, err)
	var want []netip.Prefix
	for _, text := range []string{"10.96.0.0/16", "10.244.1.0/24", "fd00:1::/64", "192.168.1.7/32"} {
		want = append(want, netip.MustParsePrefix(text))
	}
	assert.Equal(t, want, all)
}

// TestReadFails has no list: that the networks are unknown is an error, not a cluster without any.
func TestReadFails(t *testing.T) {
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("forbidden")
		},
	})
	_, err := networks.Read(t.Context(), c)
	require.ErrorContains(t, err, "forbidden")
}

// TestStrip leaves other objects as they are, and of a node no more than its addresses.
func TestStrip(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	same, err := networks.Strip(pod)
	require.NoError(t, err)
	assert.Same(t, pod, same)
	stripped, err := networks.Strip(node())
	require.NoError(t, err)
	want := node()
	want.Labels, want.Spec.ProviderID = nil, ""
	assert.Equal(t, want, stripped)
}
