// Package controlplane gives tests of the main module a real Kubernetes: the
// form control-plane (etcd and API server on loopback, 4 s) or node (also a
// kubelet, 8 s). It runs bin/cluster and talks to it by way of its program
// alone; see test/cluster/README.md. A cluster ends when its test ends, also
// when the test's process is killed.
//
//	func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		c := controlplane.Shared(t) // one for all tests of the package
//		client := c.Client(t)
//		…
//	}
//
// A test that stops components uses [Start] and has a cluster of its own.
//
// What must not come in: anything of Orcon, so that every test can use it.
package controlplane
