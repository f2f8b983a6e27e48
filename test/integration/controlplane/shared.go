package controlplane

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
)

// one is the cluster that the tests of a package share. A global, since tests
// of a package have nothing else in common.
var one struct { //nolint:gochecknoglobals // see above
	once    sync.Once
	form    []string
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and then ends the cluster that they shared,
// if any of them asked for it. The form is the shared cluster's. It returns
// the code to exit with.
func Main(m *testing.M, form ...string) int {
	one.form = form
	code := m.Run()
	if one.cluster == nil {
		return code
	}
	if err := one.cluster.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Shared returns the cluster of the package, which is started for the first
// test that asks. The package's TestMain calls Main.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	one.once.Do(func() { one.cluster, one.err = run(one.form...) })
	if one.err != nil {
		t.Fatal(one.err)
	}
	return one.cluster
}

// FreePort returns a port of the loopback interface that is free. It lies below the kernel's range for outgoing connections,
// and below that of clusters, so that it is still free for a program that is started again.
func FreePort(t testing.TB) int {
	t.Helper()
	const first, count, tries = 10000, 10000, 200
	for range tries {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count)))
		if err == nil {
			_ = l.Close()
			return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // the network is tcp
		}
	}
	t.Fatal("no port is free")
	return 0
}
