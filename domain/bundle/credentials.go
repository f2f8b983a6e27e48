package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Credentials open a source. Its zero value opens what is open to all.
type Credentials struct {
	// Username and Password go together.
	Username, Password string
	// Token is sent instead of them.
	Token string
	// PrivateKey is PEM, for SSH; KnownHosts is how the host is known, as in the file of
	// that name.
	PrivateKey, KnownHosts string
	// CA is PEM: who may sign for the server, besides those that the machine trusts.
	CA string
}

// ParseCredentials reads them as a Secret has them: username and password, or token;
// ssh-privatekey with known_hosts; ca.crt. Errors name keys, never values.
func ParseCredentials(data map[string]string) (Credentials, error) {
	var c Credentials
	places := map[string]*string{
		"username": &c.Username, "password": &c.Password, "token": &c.Token,
		"ssh-privatekey": &c.PrivateKey, "known_hosts": &c.KnownHosts, "ca.crt": &c.CA,
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		place, ok := places[key]
		if !ok {
			return Credentials{}, fmt.Errorf("cannot use credentials: key %q is none of %s", key, strings.Join(slices.Sorted(maps.Keys(places)), ", "))
		}
		*place = data[key]
	}
	switch {
	case c.Token != "" && c.Username+c.Password != "":
		return Credentials{}, fmt.Errorf("cannot use credentials: token stands beside username or password: keep one of the two")
	case c.Password != "" && c.Username == "":
		return Credentials{}, fmt.Errorf("cannot use credentials: password without username: add username")
	case c.PrivateKey != "" && c.KnownHosts == "":
		return Credentials{}, fmt.Errorf("cannot use credentials: ssh-privatekey without known_hosts: compare the host's fingerprint, then " +
			"add its line of ssh-keyscan")
	}
	return c, nil
}

// String says nothing (BUNDLES.md, invariant 10).
func (Credentials) String() string { return "credentials" }

// GoString says nothing either.
func (Credentials) GoString() string { return "credentials" }
