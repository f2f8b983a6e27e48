package clustertest_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/image"
)

const shellImage = "localhost/shell:1"

// web is a pod with a native sidecar, and the Service in front of it.
const web = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - name: sidecar
    image: localhost/shell:1
    imagePullPolicy: Never
    restartPolicy: Always
    command: [sh, -c, "echo hello from the sidecar; echo hello > /www/index.html; exec sleep 3600"]
    volumeMounts: [{name: www, mountPath: /www}]
  containers:
  - name: web
    image: localhost/shell:1
    imagePullPolicy: Never
    command: [httpd, -f, -p, "8080", -h, /www]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: www, mountPath: /www}]
  volumes: [{name: www, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: client
    image: localhost/shell:1
    imagePullPolicy: Never
    command: [sleep, "3600"]
`

func TestNode(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("a node with real pods needs root: run this test as root, or leave it out: -skip '^TestNode$'")
	}
	started := time.Now()
	c := clustertest.Up(t, clustertest.Node)
	t.Logf("ready after %s", time.Since(started).Round(poll))
	eachIsAProcess(t, c, 8)
	c.Run(t, "load", shellArchive(t))
	c.Apply(t, web)
	c.Kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/web", "pod/client")
	tr := traceOf(t, c)
	tr.assertPresent(t, "process", "folder", "link", "cgroup")
	t.Run("LogsAndExec", func(t *testing.T) {
		wants(t, "logs", c.Kubectl(t, "logs", "web", "-c", "sidecar"), "hello from the sidecar")
		wants(t, "exec", c.Kubectl(t, "exec", "web", "-c", "web", "--", "cat", "/www/index.html"), "hello")
	})
	t.Run("ServiceByName", func(t *testing.T) { serviceByName(t, c) })
	t.Run("UnknownNameFailsAtOnce", func(t *testing.T) { unknownNameFails(t, c) })
	t.Run("Exec", func(t *testing.T) {
		execPasses(t, c)
		wants(t, "inside", c.Run(t, "exec", "--", fetch(t), "http://web.default.svc.cluster.local"), "hello")
	})
	t.Run("ReachesTheHost", func(t *testing.T) { reachesTheHost(t, c) })
	t.Run("WebhookOfTheTest", func(t *testing.T) { webhookOfTheTest(t, c) })
	t.Run("NothingBeyond", func(t *testing.T) { nothingBeyond(t, c) })
	t.Run("KilledAndStartedAgain", func(t *testing.T) { nodeRecovers(t, c) })
	t.Run("SecondBeside", func(t *testing.T) { secondNode(t, c) })
	tr.ends(t)
	c.Down(t)
	tr.assertGone(t)
}

func serviceByName(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	for _, url := range []string{"http://web", "http://web.default.svc.cluster.local"} {
		wants(t, url, tryKubectl(t, c, "exec", "client", "--", "fetch", url), "hello")
	}
	out, _ := c.TryKubectl("", "exec", "client", "--", "fetch", "https://kubernetes.default.svc")
	wants(t, "a pod reaches the API server", out, "certificate signed by unknown authority")
}

func unknownNameFails(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	started := time.Now()
	out, err := c.TryKubectl("", "exec", "client", "--", "fetch", "http://www.example.com")
	if err == nil {
		t.Error("an outside name was resolved")
	}
	wants(t, "why", out, "no such host")
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// reachesTheHost serves on the host and asks from a pod.
func reachesTheHost(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(c.HostAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello from the host") }))
	}()
	url := "http://" + listener.Addr().String()
	wants(t, "from a pod", c.Kubectl(t, "exec", "client", "--", "fetch", url), "hello from the host")
}

// nothingBeyond shows that no packet leaves the machine: a node knows no way to
// any address but its own and the host's end of its cable.
func nothingBeyond(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	started := time.Now()
	if out, err := c.TryKubectl("", "exec", "client", "--", "nc", "-z", "-w", "20", "192.0.2.1", "80"); err == nil {
		t.Errorf("an outside address answered: %s", out)
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("it took %s to be refused", took)
	}
	wants(t, "routes", c.Run(t, "exec", "--", "ip", "route"), "unreachable default")
}

func nodeRecovers(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	for _, component := range []string{"kube-apiserver", "kubelet", "containerd", "kube-proxy", "coredns"} {
		c.Run(t, "kill", component)
		c.Run(t, "start", component)
	}
	wants(t, "the same pod answers", tryKubectl(t, c, "exec", "client", "--", "fetch", "http://web"), "hello")
	restarts := c.Kubectl(t, "get", "pod", "web", "-o", "jsonpath={.status.containerStatuses[*].restartCount}")
	if restarts != "0" {
		t.Errorf("want pods to live on, got %s restarts", restarts)
	}
	c.Kubectl(t, "run", "later", "--image="+shellImage, "--image-pull-policy=Never", "--restart=Never", "--command", "--", "sh", "-c", "exit 0")
	tryKubectl(t, c, "wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s", "pod/later")
}

// secondNode shows that two nodes, each with a pod, do not disturb each other.
func secondNode(t *testing.T, first *clustertest.Cluster) {
	t.Helper()
	second := clustertest.Up(t, clustertest.Node)
	second.Run(t, "load", shellArchive(t))
	second.Apply(t, web)
	second.Kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/web", "pod/client")
	tr := traceOf(t, second)
	wants(t, "second", tryKubectl(t, second, "exec", "client", "--", "fetch", "http://web"), "hello")
	tr.ends(t)
	second.Down(t)
	tr.assertGone(t)
	wants(t, "first", tryKubectl(t, first, "exec", "client", "--", "fetch", "http://web"), "hello")
}

// shellArchive makes an image with a shell and the usual small programs.
func shellArchive(t *testing.T) string {
	t.Helper()
	i := image.Image{
		Name: shellImage, Entrypoint: []string{"/bin/sh"},
		Programs: map[string]string{"/bin/busybox": busybox(t), "/bin/fetch": fetch(t)}, Links: map[string]string{},
	}
	for _, name := range []string{"sh", "sleep", "echo", "cat", "nc", "httpd"} {
		i.Links["/bin/"+name] = "busybox"
	}
	file := filepath.Join(t.TempDir(), "shell.tar")
	if err := image.Write(file, i); err != nil {
		t.Fatal(err)
	}
	return file
}

// busybox returns Debian's static busybox, unpacked and not installed.
func busybox(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	command := exec.Command("sh", "-ec", "apt-get download -qq busybox-static || { apt-get update -qq; apt-get download -qq busybox-static; }; dpkg -x busybox-static_*.deb .")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("cannot get busybox-static from Debian: %v\n%s", err, out)
	}
	return filepath.Join(folder, "bin", "busybox")
}

// fetch returns a static program that prints what a URL answers; busybox's own
// cannot resolve names when it is static.
func fetch(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fetch")
	command := exec.Command("go", "build", "-o", program, "./internal/fetch")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("cannot build fetch: %v\n%s", err, out)
	}
	return program
}
