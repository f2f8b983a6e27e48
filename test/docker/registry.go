package docker

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// variableRelay has this program forward connections from the engine's network to the file that it names.
const variableRelay = "ORCON_TEST_RELAY"

// RegistryHost is the address at which the engine reaches the registry of the tests.
const RegistryHost = "127.0.0.1:5000"

// socketOfRegistry returns the file at which the registry of the tests is served. Sockets of files are in no network.
func socketOfRegistry(pid int) string { return filepath.Join(own(pid), "registry.sock") }

// relay forwards connections until the process ends.
func relay(socket string) error {
	listener, err := net.Listen("tcp", RegistryHost)
	if err != nil {
		return err
	}
	for {
		in, err := listener.Accept()
		if err != nil {
			return err
		}
		go forward(in, socket)
	}
}

// forward joins a connection with a new one.
func forward(in net.Conn, socket string) {
	defer in.Close() //nolint:errcheck // it is over
	out, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer out.Close() //nolint:errcheck // it is over
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.(*net.UnixConn).CloseWrite() //nolint:forcetypeassert // it was dialled so
	}()
	_, _ = io.Copy(in, out)
}

// Push serves a registry until the test ends, with an image of a file, and returns the image's name by its digest.
func Push(t *testing.T, file string) string {
	t.Helper()
	socket := filepath.Join(os.Getenv("TMPDIR"), "registry.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal("cannot serve a registry:", err)
	}
	server := &http.Server{Handler: registry.New(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal("cannot read the image:", err)
	}
	reference, err := name.ParseReference(RegistryHost+"/conformance:dev", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	if err := remote.Write(reference, image, remote.WithTransport(transport)); err != nil {
		t.Fatal("cannot push the image:", err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s/conformance@%s", RegistryHost, digest)
}
