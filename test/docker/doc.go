// Package docker runs tests beside a Docker engine of their own, Debian's docker.io, in namespaces of its own: its network
// has no way out. The engine and its containers end with the tests, however these end.
//
// What must not come in: what is tested.
package docker
