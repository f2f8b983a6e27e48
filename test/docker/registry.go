package docker

import (
	"context"
	"fmt"
	"io"
	"log" //nolint:depguard // the registry wants one
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// RegistryHost is the address at which the engine reaches the registry of the tests.
const RegistryHost = "127.0.0.1:5000"

// Push serves a registry until the test ends, with the images of files, and returns their names by their digests.
func Push(t *testing.T, files ...string) (images []string) {
	t.Helper()
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute}
	listener := listen(t, registryPort)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", listener.Addr().String())
	}}
	for _, file := range files {
		image, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			t.Fatal("cannot read the image:", err)
		}
		repository := RegistryHost + "/" + strings.TrimSuffix(filepath.Base(file), ".tar")
		reference, err := name.ParseReference(repository+":dev", name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(reference, image, remote.WithTransport(transport)); err != nil {
			t.Fatal("cannot push the image:", err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, fmt.Sprintf("%s@%s", repository, digest))
	}
	return images
}
