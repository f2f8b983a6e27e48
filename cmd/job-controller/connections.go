package main

import (
	"net"
	"net/http"
	"sync"
)

// maxConnections is how many connections one address may have to a server. RunNodes behind one address share them.
const maxConnections = 1024

// connections counts the connections of a server by their addresses, so that strangers at one address take a bounded part of
// the memory (TRUST.md U3).
type connections struct {
	most int

	mutex sync.Mutex
	of    map[string]int
}

// limited returns what counts connections, as http.Server.ConnState, and closes new ones beyond a limit.
func limited(most int) func(net.Conn, http.ConnState) {
	return (&connections{most: most, of: map[string]int{}}).changed
}

func (c *connections) changed(conn net.Conn, state http.ConnState) {
	address := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch state {
	case http.StateNew:
		if c.of[address]++; c.of[address] > c.most {
			_ = conn.Close() // its end is counted too
		}
	case http.StateClosed, http.StateHijacked:
		if c.of[address]--; c.of[address] <= 0 {
			delete(c.of, address)
		}
	case http.StateActive, http.StateIdle:
	}
}
