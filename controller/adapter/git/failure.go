package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/crypto/ssh"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// failure returns why a fetch failed, and the cure. It quotes no answer of the server, as the
// library's errors do.
func failure(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	if own, ok := errors.AsType[egress.Error](err); ok {
		return own
	}
	if _, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err); ok {
		return errors.New("no common algorithm for host key, or for encryption: check that known_hosts has every line that ssh-keyscan " +
			"prints for the host")
	}
	if unexpected, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		err = unexpected.Err // it does not unwrap itself
	}
	if answer, ok := errors.AsType[*githttp.Err](err); ok {
		return fmt.Errorf("the server answered %d %s", answer.StatusCode(), http.StatusText(answer.StatusCode()))
	}
	for _, known := range []struct {
		err  error
		cure string
	}{
		{transport.ErrAuthenticationRequired, ": use credentials that can read it"},
		{transport.ErrAuthorizationFailed, ": use credentials that can read it"},
		{transport.ErrRepositoryNotFound, ": check the address, and whether it needs credentials"},
		{transport.ErrEmptyRemoteRepository, ""},
		{gogit.NoMatchingRefSpecError{}, ""},
		{plumbing.ErrObjectNotFound, ""},
	} {
		if errors.Is(err, known.err) {
			return fmt.Errorf("%w%s", known.err, known.cure)
		}
	}
	switch found := egress.Failure(err); {
	case errors.Is(err, bundle.ErrLimit):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("the server closed the connection: %w", found)
	case found != nil:
		return found
	}
	return errors.New("the server's answer is damaged, or not a repository's: check the address")
}

// errorf returns an error that quotes no answer of the server.
func errorf(format string, values ...any) error { return egress.Error(fmt.Sprintf(format, values...)) }
