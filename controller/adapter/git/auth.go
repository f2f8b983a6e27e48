package git

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
)

// auth returns what opens a repository; nil where nothing is needed.
func (c Client) auth(location string) (transport.AuthMethod, error) {
	rest, overSSH := strings.CutPrefix(location, "ssh://")
	switch {
	case overSSH:
		return c.key(rest)
	case c.Credentials.Token != "":
		return &http.TokenAuth{Token: c.Credentials.Token}, nil
	case c.Credentials.Username != "":
		return &http.BasicAuth{Username: c.Credentials.Username, Password: c.Credentials.Password}, nil
	default:
		return nil, nil //nolint:nilnil // the library's word for nobody
	}
}

// key opens by a key, where the host is known. No agent of the machine is asked.
func (c Client) key(rest string) (transport.AuthMethod, error) {
	if c.Credentials.PrivateKey == "" {
		return nil, errors.New("cannot open a repository over SSH without a key: give credentials ssh-privatekey and known_hosts")
	}
	user, _, named := strings.Cut(rest, "@")
	if !named {
		user = "git"
	}
	auth, err := ssh.NewPublicKeys(user, []byte(c.Credentials.PrivateKey), "")
	if err != nil {
		return nil, fmt.Errorf("cannot use ssh-privatekey: %w: give one in PEM, without a passphrase", err)
	}
	file, err := os.CreateTemp("", "orcon-known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("cannot prepare known_hosts: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it holds nothing secret
	_, err = file.WriteString(c.Credentials.KnownHosts)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("cannot prepare known_hosts: %w", err)
	}
	if auth.HostKeyCallback, err = ssh.NewKnownHostsCallback(file.Name()); err != nil {
		return nil, fmt.Errorf("cannot read known_hosts: %w", err)
	}
	return auth, nil
}
