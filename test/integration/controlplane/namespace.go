package controlplane

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewNamespace makes a namespace whose name begins with prefix, and returns the
// name, which no other test has.
func (c *Cluster) NewNamespace(t testing.TB, prefix string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	made, err := c.Client(t).CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot make a namespace: %v", err)
	}
	return made.Name
}

// RoundTrip is a transport made of a function.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip carries out one request.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
