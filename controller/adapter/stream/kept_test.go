package stream

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
)

// withoutRoom calls f while no file can have more than 64 KiB, as in a volume that is full.
func withoutRoom(t *testing.T, f func()) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	low := limit
	low.Cur = 64 << 10
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)) }()
	f()
}

// A bundle that has no room in the volume takes the place of none: without a kept one, an authority that was revoked would
// be trusted again, since the pod was admitted with it (TRUST.md R6).
func TestBundleWithoutRoomIsNotKept(t *testing.T) {
	revoked, next := streamtest.NewAuthority(t), streamtest.NewAuthority(t)
	dir := t.TempDir()
	c := &Client{
		ServerName: streamtest.ServerName, Trust: revoked.PEM(),
		TrustFile: filepath.Join(dir, "ca.crt"), TrustKept: filepath.Join(dir, "kept.crt"),
	}
	leaf, err := x509.ParseCertificate(next.Leaf(t).Certificate[0])
	require.NoError(t, err)
	verified := &peer{tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}, time.Now()}
	require.NoError(t, os.WriteFile(c.TrustFile, []byte(next.PEM()), 0o600))
	c.keep(verified)
	large := next.PEM() + strings.Repeat("#", 128<<10)
	require.NoError(t, os.WriteFile(c.TrustFile, []byte(large), 0o600))

	withoutRoom(t, func() { c.keep(verified) })
	kept, err := os.ReadFile(c.TrustKept)
	require.NoError(t, err)
	assert.Equal(t, next.PEM(), string(kept), "what was kept stays")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "and nothing is left beside it")
	c.keep(verified)
	kept, err = os.ReadFile(c.TrustKept)
	require.NoError(t, err)
	assert.Len(t, kept, len(large), "once there is room")
}
