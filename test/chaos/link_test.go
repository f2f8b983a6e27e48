package chaos_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// echo listens until the test ends, and answers with what it reads.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// answers reports whether a connection is served.
func answers(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.Write([]byte{1}); err != nil {
		return false
	}
	_, err := c.Read(make([]byte, 1))
	return err == nil
}

func TestLink(t *testing.T) {
	backend := echo(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	link, err := chaos.NewLink(func() []string { return []string{closed.Addr().String(), backend} })
	require.NoError(t, err)
	defer link.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", link.Address())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	first, second := dial(), dial()
	require.True(t, answers(first), "the backend that accepts serves")
	require.True(t, answers(second))
	assert.Equal(t, 2, link.OpenTo(backend))

	assert.Equal(t, 2, link.Cut())
	assert.False(t, answers(first))
	assert.False(t, answers(dial()), "none is accepted while it is cut")
	assert.Equal(t, 0, link.Cut())
	assert.Equal(t, 0, link.OpenTo(backend))

	link.Mend()
	assert.True(t, answers(dial()))

	began := time.Now()
	link.Slow(50 * time.Millisecond)
	assert.True(t, answers(dial()))
	assert.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond, "there and back")
}
