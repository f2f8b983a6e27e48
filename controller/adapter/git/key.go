package git

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// publicKey is the protocol's name for opening by a key.
const publicKey = "publickey"

// overSSH reports whether a repository is reached over SSH.
func overSSH(location string) bool { return strings.HasPrefix(location, "ssh://") }

// key opens by a key, where the host is known. No agent of the machine is asked.
func (c Client) key(location string) (transport.AuthMethod, error) {
	if c.Credentials.PrivateKey == "" {
		return nil, errors.New("cannot open a repository over SSH without a key: add credentials ssh-privatekey and known_hosts")
	}
	at, err := transport.NewEndpoint(location)
	if err != nil {
		return nil, err
	}
	auth, err := gitssh.NewPublicKeys(cmp.Or(at.User, "git"), []byte(c.Credentials.PrivateKey), "")
	if err != nil {
		return nil, fmt.Errorf("cannot use ssh-privatekey: %w: use one in PEM format, without a passphrase", err)
	}
	address := net.JoinHostPort(at.Host, strconv.Itoa(cmp.Or(at.Port, gitssh.DefaultPort)))
	if err := c.know(auth, address); err != nil {
		return nil, err
	}
	return onlyKey{auth, address}, nil
}

// know makes a key go to a host that known_hosts has, and to no other.
func (c Client) know(auth *gitssh.PublicKeys, address string) error {
	file, err := os.CreateTemp("", "orcon-known-hosts-")
	if err != nil {
		return fmt.Errorf("cannot prepare known_hosts: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it holds nothing secret
	_, err = file.WriteString(c.Credentials.KnownHosts)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("cannot prepare known_hosts: %w", err)
	}
	hosts, err := gitssh.NewKnownHostsDb(file.Name())
	if err != nil {
		return fmt.Errorf("cannot read known_hosts: %s", strings.ReplaceAll(err.Error(), file.Name(), "line"))
	}
	// A host has keys of several kinds: it is asked for one of a kind that is known.
	auth.HostKeyAlgorithms = hosts.HostKeyAlgorithms(address)
	check := hosts.HostKeyCallback()
	auth.HostKeyCallback = func(host string, from net.Addr, key ssh.PublicKey) error {
		return unknown(host, key, check(host, from, key))
	}
	return nil
}

// unknown says what to do about a host whose key is not as known_hosts has it; nil where
// it is.
func unknown(host string, key ssh.PublicKey, err error) error {
	var wrong *knownhosts.KeyError
	switch {
	case !errors.As(err, &wrong):
		return err
	case len(wrong.Want) == 0:
		return errorf("host %s is not in known_hosts: compare its fingerprint %s, then add its line of ssh-keyscan", host,
			ssh.FingerprintSHA256(key))
	default:
		return errorf("host %s has another key (%s) than in known_hosts: another server may be answering in its place: check with its "+
			"operator, then add the new line", host, ssh.FingerprintSHA256(key))
	}
}

// onlyKey is a key that says so where a server does not take it.
type onlyKey struct {
	*gitssh.PublicKeys

	// address is the server's host and port.
	address string
}

// ClientConfig implements the library's AuthMethod.
func (k onlyKey) ClientConfig() (*ssh.ClientConfig, error) {
	all, err := k.PublicKeys.ClientConfig()
	if err != nil {
		return nil, err
	}
	all.AuthCallback = func(now *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
		if slices.Contains(now.AllowedMethods, publicKey) && !slices.Contains(now.TriedMethods, publicKey) {
			return nil, nil //nolint:nilnil // the library's word for going on
		}
		return nil, errorf("%s refuses user %q with ssh-privatekey: allow its public key %s to read the repository, or use another key",
			k.address, k.User, ssh.FingerprintSHA256(k.Signer.PublicKey()))
	}
	return all, nil
}
