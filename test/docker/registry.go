package docker

import (
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // the registry wants one
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

// variableRegistry has the address of the registry of the tests: the same for the engine, in its network, and for programs.
const variableRegistry = "ORCON_TEST_REGISTRY"

// RegistryHost returns the address at which engine and programs reach the registry of the tests.
func RegistryHost() string { return os.Getenv(variableRegistry) }

// registryPort returns the port of the registry.
func registryPort() string {
	_, port, _ := net.SplitHostPort(RegistryHost()) // it was chosen here
	return port
}

// chooseRegistry chooses the address of the registry, by a port that the kernel gives to no program by itself: it is used
// later.
func chooseRegistry() error {
	const first, ports = 20_000, 10_000
	var err error
	for n := range ports {
		address := fmt.Sprintf("127.0.0.1:%d", first+(os.Getpid()+n)%ports)
		var free net.Listener
		if free, err = net.Listen("tcp", address); err == nil {
			return errors.Join(os.Setenv(variableRegistry, address), free.Close())
		}
	}
	return err
}

// Push serves a registry until the test ends, with the images of files, and returns their names by their digests.
func Push(t *testing.T, files ...string) (names []string) {
	t.Helper()
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	here, err := net.Listen("tcp", RegistryHost())
	if err != nil {
		t.Fatal("cannot serve a registry:", err)
	}
	for _, listener := range []net.Listener{here, listen(t, registryPort())} {
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
