package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deployment/examples/http: the consumer's list is, whatever happens, exactly the
// units that there are.
func TestExampleHTTP(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.Kubectl(t, "apply", "-k", deployment(t, "examples/http"))
	t.Cleanup(func() { w.Kubectl(t, "delete", "namespace", "pages", "--wait=false") })
	w.namespace = "pages"
	w.running("front", 1)
	for _, replicas := range []int{2, 5, 1, 3} {
		began := time.Now()
		w.kubectl("scale", "deployment/site", fmt.Sprintf("--replicas=%d", replicas))
		w.eventually(func() string {
			pods, err := w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=site"})
			if err != nil || len(pods.Items) != replicas {
				return fmt.Sprintf("there are not %d units", replicas)
			}
			var addresses []string
			for _, p := range pods.Items {
				addresses = append(addresses, p.Status.PodIP)
			}
			slices.Sort(addresses)
			listed, _ := w.try("exec", "deploy/front", "-c", "front", "--", "cat", "/shared/upstreams")
			if listed == strings.Join(addresses, "\n") {
				return ""
			}
			return fmt.Sprintf("the list is %q and not %q", listed, addresses)
		})
		t.Logf("%d units, exactly, %s after the command", replicas, time.Since(began).Round(100*time.Millisecond))
	}
}
