package people

import (
	"context"
	"errors"
	"net/http"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// Tokens makes tokens by which machines join as RunNodes.
type Tokens interface {
	// Mint returns a token for a RunNode, or ErrNotFound.
	Mint(ctx context.Context, name string) (string, error)
}

// errNoNodes is the answer of a controller that serves no RunNodes.
var errNoNodes = errors.New("the job controller serves no RunNodes: set its flag -nodeAddress")

// token makes a token. It is shown to its maker alone, and never logged.
func (a *API) token(w http.ResponseWriter, r *http.Request, c call) error {
	if a.Tokens == nil {
		return errNoNodes
	}
	word, err := a.Tokens.Mint(r.Context(), c.name)
	if err != nil {
		return err
	}
	glog.Infof("%s has made a token for RunNode %s", c.person.Name, c.name)
	return write(w, http.StatusOK, people.Token{TypeMeta: typeOf("RunNodeToken"), Token: word})
}
