package git

import (
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

// auth returns what opens a repository; nil where nothing is needed.
func (c Client) auth(location string) (transport.AuthMethod, error) {
	switch {
	case overSSH(location):
		return c.key(location)
	case c.Credentials.Token != "":
		return &http.TokenAuth{Token: c.Credentials.Token}, nil
	case c.Credentials.Username != "":
		return &http.BasicAuth{Username: c.Credentials.Username, Password: c.Credentials.Password}, nil
	default:
		return nil, nil //nolint:nilnil // the library's word for nobody
	}
}
