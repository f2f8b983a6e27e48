package clustertest_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
)

// page is a pod on a node that serves its name.
const page = `apiVersion: v1
kind: Pod
metadata: {name: %[1]s, labels: {app: %[1]s}}
spec:
  nodeName: %[2]s
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: localhost/shell:1
    imagePullPolicy: Never
    command: [sh, -c, "echo hello from %[1]s > /www/index.html; exec httpd -f -p 8080 -h /www"]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: www, mountPath: /www}]
  volumes: [{name: www, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80, targetPort: 8080}]
---
`

// TestTwoNodes shows that pods of two nodes reach each other, the API server and the host, that the second one can be cut
// off, killed and started again, and that a killed supervisor leaves nothing of either.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	c := background(t, clustertest.Node, "--nodes", "2", "--dir", filepath.Join(t.TempDir(), "c")).cluster
	if len(c.Nodes) != 2 {
		t.Fatalf("want two nodes, got %v", c.Nodes)
	}
	c.Run(t, "load", shellArchive(t))
	c.Apply(t, fmt.Sprintf(page, "one", "orcon-node")+fmt.Sprintf(page, "two", "orcon-node-2"))
	c.Kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/one", "pod/two")
	tr := traceOf(t, c)
	tr.assertPresent(t, "process", "folder", "link", "cgroup")
	t.Run("PodsReachEachOther", func(t *testing.T) {
		reaches(t, c, "one", "two")
		reaches(t, c, "two", "one")
	})
	t.Run("ReachesTheRest", func(t *testing.T) { secondReachesTheRest(t, c) })
	t.Run("CutOff", func(t *testing.T) {
		c.Run(t, "exec", "--", "ip", "link", "set", "n2", "down")
		if out, err := c.TryKubectl("", "exec", "one", "--", "nc", "-z", "-w", "2", addressOf(t, c, "two"), "8080"); err == nil {
			t.Errorf("a node that is cut off answered: %s", out)
		}
		c.Run(t, "exec", "--", "ip", "link", "set", "n2", "up")
		reaches(t, c, "two", "one")
	})
	t.Run("KilledAndStartedAgain", func(t *testing.T) {
		for _, component := range []string{"kubelet-2", "containerd-2", "kube-proxy-2"} {
			c.Run(t, "kill", component)
			c.Run(t, "start", component)
		}
		reaches(t, c, "two", "one")
	})
	tr.ends(t)
	kill(t, c.Supervisor)
	tr.waitGone(t)
}

// reaches shows that a pod gets the page of another one, by its address and by the name of its Service.
func reaches(t *testing.T, c *clustertest.Cluster, from, to string) {
	t.Helper()
	for _, host := range []string{addressOf(t, c, to) + ":8080", to} {
		wants(t, from+" to "+host, tryKubectl(t, c, "exec", from, "--", "fetch", "http://"+host), "hello from "+to)
	}
}

func addressOf(t *testing.T, c *clustertest.Cluster, pod string) string {
	t.Helper()
	return c.Kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
}

// secondReachesTheRest shows that a pod of the second node reaches the API server and the host, and nothing beyond.
func secondReachesTheRest(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	out, _ := c.TryKubectl("", "exec", "two", "--", "fetch", "https://kubernetes.default.svc")
	wants(t, "the API server", out, "certificate signed by unknown authority")
	listener, err := net.Listen("tcp", net.JoinHostPort(c.HostAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello from the host") }))
	}()
	wants(t, "the host", c.Kubectl(t, "exec", "two", "--", "fetch", "http://"+listener.Addr().String()), "hello from the host")
	if out, err := c.TryKubectl("", "exec", "two", "--", "nc", "-z", "-w", "20", "192.0.2.1", "80"); err == nil {
		t.Errorf("an outside address answered: %s", out)
	}
}

// TestNodesRefused shows that a number of nodes that cannot be is refused with the cure.
func TestNodesRefused(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"--nodes", "2"}, {"--form", "node", "--nodes", "0"}, {"--form", "node", "--nodes", "10"}} {
		out, err := tryUp(t, arguments...)
		if err == nil {
			t.Errorf("a cluster came up with %s", strings.Join(arguments, " "))
		}
		wants(t, "the cure", out, "it must be 1 to 9, and more than 1 needs --form node")
	}
}
