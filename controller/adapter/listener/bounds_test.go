package listener

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// peer is a connection of an address.
type peer struct {
	net.Conn

	address net.Addr
	closed  bool
}

func (p *peer) RemoteAddr() net.Addr { return p.address }

func (p *peer) Close() error {
	p.closed = true
	return nil
}

// meet has a new connection of an address accepted.
func meet(b *bounds, host string) *peer {
	p := &peer{address: &net.TCPAddr{IP: net.ParseIP(host), Port: 40000}}
	b.accept(context.Background(), p)
	return p
}

// TRUST.md U3: when all strangers are too many, those of few addresses give way to those of many.
func TestStrangersGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBounds()
		var greedy []*peer
		for i := range maxStrangers {
			greedy = append(greedy, meet(b, fmt.Sprintf("10.0.0.%d", i/maxStrangersEach)))
		}
		for i := range 100 {
			assert.False(t, meet(b, fmt.Sprintf("10.1.0.%d", i)).closed, "an agent is let in")
		}
		closed := 0
		for _, p := range greedy {
			if p.closed {
				closed++
			}
		}
		assert.Equal(t, 100, closed)
		assert.True(t, meet(b, "10.0.0.1").closed, "one of many is refused")
		<-time.After(proveWithin)
		synctest.Wait()
		assert.True(t, greedy[len(greedy)-1].closed, "none of them proved anything in time")
	})
}

// A connection that is proven, or has gone, is no stranger's any more, and stays open.
func TestProvenConnectionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBounds()
		var all []*peer
		for range 10 * maxConnections {
			p := meet(b, "10.0.0.1")
			if len(all) < maxConnections {
				require.True(t, b.move(b.all[p], "blog-1"))
			} else {
				require.False(t, b.move(b.all[p], "blog-1"), "the pod has enough")
				b.closed(p)
			}
			all = append(all, p)
		}
		assert.Zero(t, b.strangers.Members())
		<-time.After(time.Hour)
		for _, p := range all[:maxConnections] {
			assert.False(t, p.closed)
		}
		require.True(t, b.move(b.all[all[0]], "blog-2"), "a connection may serve several pods")
		assert.Equal(t, maxConnections, b.pods.Members(), "and counts for the last")
		for _, p := range all {
			b.closed(p)
		}
		assert.Zero(t, b.pods.Members())
		assert.Empty(t, b.all)
	})
}
