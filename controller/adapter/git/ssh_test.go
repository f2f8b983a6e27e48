package git_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// daemon is an SSH server on the loopback that gives what git gives to one key.
type daemon struct {
	t *testing.T
	// address is its host and port.
	address string
	config  *ssh.ServerConfig
	// greeted, asked and begun are called before the handshake, before the answer to a
	// command, and after the first half of it; nil is not.
	greeted, asked, begun func(c net.Conn)
}

// pair is a new key: as a person keeps it, and as a server knows it.
func pair(t *testing.T) (private string, public ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	public, err = ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(block)), public
}

// otherKind is a new key of another kind than pair's.
func otherKind(t *testing.T) ssh.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return signer
}

// newDaemon starts a server, and returns it with the credentials that it takes.
func newDaemon(t *testing.T) (*daemon, bundle.Credentials) {
	t.Helper()
	private, user := pair(t)
	_, host := pair(t)
	d := &daemon{t: t, config: &ssh.ServerConfig{
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if c.User() == "git" && string(key.Marshal()) == string(user.PublicKey().Marshal()) {
				return &ssh.Permissions{}, nil
			}
			return nil, errors.New("nobody knows this key")
		},
	}}
	d.config.AddHostKey(host)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d.address = listener.Addr().String()
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { d.serve(c) })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		open.Wait() // whoever fetched has left no connection behind
	})
	return d, bundle.Credentials{PrivateKey: private, KnownHosts: d.line(host.PublicKey())}
}

// line is the server's line of known_hosts for one of its keys.
func (d *daemon) line(key ssh.PublicKey) string {
	return knownhosts.Line([]string{knownhosts.Normalize(d.address)}, key) + "\n"
}

// serve serves one connection to its end.
func (d *daemon) serve(c net.Conn) {
	defer c.Close()
	meet(d.greeted, c)
	_, channels, requests, err := ssh.NewServerConn(c, d.config)
	if err != nil {
		return // whoever fetched says why
	}
	go ssh.DiscardRequests(requests)
	for each := range channels {
		out, asked, err := each.Accept()
		if err != nil {
			return
		}
		for r := range asked {
			if r.Type == "exec" {
				_ = r.Reply(true, nil)
				meet(d.asked, c)
				d.answer(c, out, string(r.Payload[4:])) // behind its length
			}
		}
	}
}

// meet calls what may be nil.
func meet(what func(net.Conn), c net.Conn) {
	if what != nil {
		what(c)
	}
}

// large is how many bytes a large file has that cannot be packed.
const large = 200 << 10

// halved calls then once so many bytes are written.
type halved struct {
	io.Writer

	left int
	then func()
}

// Write implements io.Writer.
func (h *halved) Write(p []byte) (int, error) {
	if h.left -= len(p); h.left < 0 {
		h.then()
	}
	return h.Writer.Write(p)
}

// answer does what a command asks for.
func (d *daemon) answer(c net.Conn, out ssh.Channel, command string) {
	defer out.Close()
	path, ok := strings.CutPrefix(command, "git-upload-pack ")
	assert.True(d.t, ok, command)
	git := exec.CommandContext(d.t.Context(), "git", "upload-pack", strings.Trim(path, "'"))
	git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	git.Stdout, git.Stderr = &halved{Writer: out, left: large / 2, then: func() { meet(d.begun, c) }}, out.Stderr()
	in, err := git.StdinPipe() // given as a reader, it would be read after git's end
	assert.NoError(d.t, err)
	go func() {
		_, _ = io.Copy(in, out)
		_ = in.Close() // it may be closed already
	}()
	status := struct{ Code uint32 }{}
	if git.Run() != nil {
		status.Code = 128
	}
	_, _ = out.SendRequest("exit-status", false, ssh.Marshal(status))
}

// A commit, a branch and the default branch come over SSH, from a server that
// known_hosts knows, to a key that it takes.
func TestFetchOverSSH(t *testing.T) {
	p := newProject(t)
	p.write("deploy/a.yaml", "1")
	first := p.commit()
	p.write("deploy/a.yaml", "2")
	second := p.commit()
	d, credentials := newDaemon(t)
	// The server has a second key, of a kind that the library would rather have.
	d.config.AddHostKey(otherKind(t))
	c := client()
	c.Credentials = credentials
	reference := func(more string) bundle.Reference {
		r, err := bundle.ParseReference("git+ssh://git@" + d.address + p.folder + more)
		require.NoError(t, err)
		return r
	}
	fetched := func(r bundle.Reference, commit, content string) {
		tree, got, err := c.Fetch(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, commit, got)
		a, _ := tree.File("deploy/a.yaml")
		assert.Equal(t, content, string(a.Content))
	}
	fetched(reference("@"+first), first, "1")
	fetched(reference("@main"), second, "2")
	fetched(reference(""), second, "2")
	r := reference("@main")
	r.Location = strings.Replace(r.Location, "git@", "", 1)
	fetched(r, second, "2")

	p.write("deploy/a.yaml", "3")
	fetched(reference("@main"), p.commit(), "3")
}

// newLarge is a repository that is sent in several pieces.
func newLarge(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	content := make([]byte, large)
	_, _ = rand.Read(content) // it never fails
	p.write("large", string(content))
	p.commit()
	return p
}

// BUNDLES.md, invariants 1 and 10: what does not come over SSH gives nothing, and says
// what to do, without a word of the key.
func TestFetchOverSSHRefuses(t *testing.T) {
	p := newLarge(t)
	hangUp := func(c net.Conn) { _ = c.Close() }
	tests := map[string]struct {
		why    string
		change func(d *daemon, c *bundle.Credentials)
		more   string
		want   []string
	}{
		"Unknown": {why: "another host's line", want: []string{"ADDRESS", "not in known_hosts", "ssh-keyscan"}, change: func(_ *daemon, c *bundle.Credentials) {
			c.KnownHosts = strings.Replace(c.KnownHosts, "127.0.0.1", "127.0.0.2", 1)
		}},
		"Changed": {why: "somebody else answers", want: []string{"ADDRESS", "has another key", "another server may be answering"}, change: func(d *daemon, c *bundle.Credentials) {
			_, other := pair(t)
			c.KnownHosts = d.line(other.PublicKey())
		}},
		"Kind": {why: "it has no key of the kind that is known", want: []string{"no common algorithm for host key", "ssh-keyscan"}, change: func(d *daemon, c *bundle.Credentials) {
			c.KnownHosts = d.line(otherKind(t).PublicKey())
		}},
		"Key": {why: "a key that nobody knows there", want: []string{"ADDRESS", "ssh-privatekey", "public key SHA256:"}, change: func(_ *daemon, c *bundle.Credentials) {
			c.PrivateKey, _ = pair(t)
		}},
		"NoKeys": {why: "it takes passwords only", want: []string{"ADDRESS", "ssh-privatekey"}, change: func(d *daemon, _ *bundle.Credentials) {
			d.config.PublicKeyCallback = nil
			d.config.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, errors.New("no") }
		}},
		"NotFound":  {why: "no such repository", more: "/missing", want: []string{"check the address"}},
		"CutOff":    {why: "it hangs up at once", want: []string{"the server closed the connection"}, change: func(d *daemon, _ *bundle.Credentials) { d.greeted = hangUp }},
		"Asked":     {why: "it hangs up when it is asked", want: []string{"the server closed the connection"}, change: func(d *daemon, _ *bundle.Credentials) { d.asked = hangUp }},
		"Truncated": {why: "it hangs up in the middle of the files", want: []string{"the server closed the connection"}, change: func(d *daemon, _ *bundle.Credentials) { d.begun = hangUp }},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			d, credentials := newDaemon(t)
			if tc.change != nil {
				tc.change(d, &credentials)
			}
			c := client()
			c.Credentials = credentials
			tree, _, err := c.Fetch(t.Context(), bundle.Reference{Origin: bundle.Git, Location: "ssh://git@" + d.address + p.folder + tc.more})
			require.Error(t, err, tc.why)
			for _, want := range tc.want {
				require.ErrorContains(t, err, strings.Replace(want, "ADDRESS", d.address, 1), tc.why)
			}
			assert.Empty(t, tree.Paths(), tc.why)
			assert.NotContains(t, err.Error(), credentials.PrivateKey)
		})
	}
}

// BUNDLES.md, invariant 1: a server that hangs is left when the time is over, before it
// has said a word as well as in the middle, and its connection is closed.
func TestFetchOverSSHHangs(t *testing.T) {
	p := newLarge(t)
	tests := map[string]struct {
		why string
		set func(d *daemon, hang func(c net.Conn))
	}{
		"Silent": {why: "not a word", set: func(d *daemon, hang func(net.Conn)) { d.greeted = hang }},
		"Asked":  {why: "no answer to the command", set: func(d *daemon, hang func(net.Conn)) { d.asked = hang }},
		"Begun":  {why: "half of the files", set: func(d *daemon, hang func(net.Conn)) { d.begun = hang }},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			over := errors.New("it took too long")
			ctx, end := context.WithCancelCause(t.Context())
			d, credentials := newDaemon(t)
			tc.set(d, func(c net.Conn) {
				end(over)
				_, _ = io.Copy(io.Discard, c) // to its end, which whoever fetches brings about
			})
			c := client()
			c.Credentials = credentials
			_, _, err := c.Fetch(ctx, bundle.Reference{Origin: bundle.Git, Location: "ssh://git@" + d.address + p.folder})
			require.ErrorIs(t, err, over, tc.why)
		})
	}
}
