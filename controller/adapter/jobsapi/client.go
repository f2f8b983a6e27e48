package jobsapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
)

// Client calls the jobs API for one Run.
type Client struct {
	// Address is that of the controller, such as https://orcon-jobs.orcon-system.svc:8443.
	Address string
	// Run is the UID of the Run.
	Run string
	// TokenFile is read for each request: the kubelet replaces it before it expires. It is "" where the connection's
	// certificate identifies the caller.
	TokenFile string
	HTTP      *http.Client
	// Clock numbers renewals: it must not go back when the keeper is started again.
	Clock func() time.Duration
	// Timeout bounds a call without content.
	Timeout time.Duration
}

// maxAnswer is how long an answer without content may be, in bytes.
const maxAnswer = 4 << 20

// call sends a message and reads the answer.
func (c *Client) call(ctx context.Context, name string, message, answer any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("cannot write the request: %w", err)
	}
	ctx, end := context.WithTimeout(ctx, c.Timeout)
	defer end()
	in, err := c.send(ctx, http.MethodPost, name, bytes.NewReader(text), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
	})
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is read to its end
	if err := json.NewDecoder(io.LimitReader(in, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("cannot read the answer of the jobs API: %w", err)
	}
	return nil
}

// send sends a request and returns the body of an answer that is 2xx.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, with func(*http.Request)) (io.ReadCloser, error) {
	address := strings.TrimSuffix(c.Address, "/") + runner.Path + url.PathEscape(c.Run) + "/" + path
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the jobs API: %w: check its address", err)
	}
	if err := c.identify(r); err != nil {
		return nil, err
	}
	with(r)
	answer, err := c.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the jobs API: %w", err)
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		return answer.Body, nil
	}
	defer answer.Body.Close() //nolint:errcheck // only its error counts
	return nil, refusal(answer)
}

// identify adds the token to a request.
func (c *Client) identify(r *http.Request) error {
	if c.TokenFile == "" {
		return nil
	}
	token, err := os.ReadFile(filepath.Clean(c.TokenFile))
	if err != nil {
		return fmt.Errorf("cannot read the token of the run: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return nil
}

// refusal returns the error that an answer reports.
func refusal(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	var p runner.Problem
	if json.Unmarshal(text, &p) != nil || p.Error == "" {
		return errors.Join(fmt.Errorf("the jobs API answers %s: is something else at its address?", answer.Status), err)
	}
	message := p.Error
	if p.Cure != "" {
		message += " (" + p.Cure + ")"
	}
	if known := meaning(p.Reason); known != nil {
		return fmt.Errorf("%w: %s", known, message)
	}
	if p.Reason == runner.Waits {
		return undecided{errors.New(message)}
	}
	return errors.New(message)
}

// undecided is an error that lasts until a person has decided: then the same request is accepted.
type undecided struct{ error }

// meaning returns what a reason means to a keeper; nil for an error that is passing.
func meaning(reason runner.Reason) error {
	switch reason {
	case runner.Stale:
		return keeper.ErrStale
	case runner.Held:
		return keeper.ErrConflict
	case runner.Invalid, runner.TooLarge, runner.Conflict:
		return keeper.ErrRefused
	case runner.NotFound:
		return blob.ErrNotFound
	case runner.Forbidden, runner.Waits, runner.Unavailable:
	}
	return nil
}
