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

// minting makes tokens. One is shown to its maker alone, and never logged.
func minting(tokens Tokens) handler {
	return func(w http.ResponseWriter, r *http.Request, c call) error {
		if tokens == nil {
			return errNoNodes
		}
		word, err := tokens.Mint(r.Context(), c.name)
		if err != nil {
			return err
		}
		glog.Infof("%s has made a token for RunNode %s", c.person.Name, c.name)
		return write(w, http.StatusOK, people.NodeToken{TypeMeta: typeOf("RunNodeToken"), Token: word})
	}
}
