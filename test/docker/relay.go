package docker

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// variableRelay has this program forward connections from the engine's network to sockets of the folder that it names.
const variableRelay = "ORCON_TEST_RELAY"

// ServicePort is a port of the engine's network at which tests serve. Containers reach it at Gateway, the engine at
// 127.0.0.1.
const (
	ServicePort = "9443"
	Gateway     = "172.17.0.1"
)

// socketOf returns the file at which tests serve a port. Sockets of files are in no network.
func socketOf(folder, port string) string { return filepath.Join(folder, port+".sock") }

// relay forwards connections until one of its listeners fails.
func relay(folder string) error {
	failed := make(chan error)
	for _, port := range []string{registryPort(), ServicePort} {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		go func() { failed <- carry(listener, "unix", socketOf(folder, port)) }()
	}
	return <-failed
}

// carry forwards the connections of a listener until it fails.
func carry(listener net.Listener, network, address string) error {
	for {
		in, err := listener.Accept()
		if err != nil {
			return err
		}
		go forward(in, network, address)
	}
}

// forward joins a connection with a new one.
func forward(in net.Conn, network, address string) {
	defer in.Close() //nolint:errcheck // it is over
	out, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer out.Close() //nolint:errcheck // it is over
	go func() {
		_, _ = io.Copy(out, in)
		if one, can := out.(interface{ CloseWrite() error }); can {
			_ = one.CloseWrite()
		}
	}()
	_, _ = io.Copy(in, out)
}

// Listen returns a listener for connections to ServicePort of the engine's network. It ends with the test.
func Listen(t *testing.T) net.Listener {
	t.Helper()
	return listen(t, ServicePort)
}

// Forward forwards connections to ServicePort of the engine's network to an address, until the test ends.
func Forward(t *testing.T, address string) {
	t.Helper()
	listener := Listen(t)
	go func() { _ = carry(listener, "tcp", address) }()
}

func listen(t *testing.T, port string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", socketOf(os.Getenv("TMPDIR"), port))
	if err != nil {
		t.Fatal("cannot serve port", port, "of the engine:", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
