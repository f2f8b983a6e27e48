package docker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// variableRelay has this program forward connections from the engine's network to the file that it names.
const variableRelay = "ORCON_TEST_RELAY"

// variableRegistry has the address of the registry of the tests: the same for the engine, in its network, and for programs.
const variableRegistry = "ORCON_TEST_REGISTRY"

// RegistryHost returns the address at which engine and programs reach the registry of the tests.
func RegistryHost() string { return os.Getenv(variableRegistry) }

// chooseRegistry chooses the address of the registry.
func chooseRegistry() error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return errors.Join(os.Setenv(variableRegistry, free.Addr().String()), free.Close())
}

// socketOfRegistry returns the file at which the registry of the tests is served. Sockets of files are in no network.
func socketOfRegistry(pid int) string { return filepath.Join(own(pid), "registry.sock") }

// relay forwards connections until the process ends.
func relay(socket string) error {
	listener, err := net.Listen("tcp", RegistryHost())
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

// Push serves a registry until the test ends, with images of files, and returns the images' names by their digests.
func Push(t *testing.T, files ...string) (names []string) {
	t.Helper()
	server := &http.Server{Handler: registry.New(), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	for network, address := range map[string]string{"unix": filepath.Join(os.Getenv("TMPDIR"), "registry.sock"), "tcp": RegistryHost()} {
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Fatal("cannot serve a registry:", err)
		}
		go func() { _ = server.Serve(listener) }()
	}
	for _, file := range files {
		image, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			t.Fatal("cannot read the image:", err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		at, err := name.NewDigest(fmt.Sprintf("%s/%s@%s", RegistryHost(), strings.TrimSuffix(filepath.Base(file), ".tar"), digest))
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(at, image); err != nil {
			t.Fatal("cannot push the image:", err)
		}
		names = append(names, at.String())
	}
	return names
}
