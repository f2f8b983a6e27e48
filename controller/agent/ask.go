package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// lookAgain is how soon to look again for an agent that does not listen yet.
const lookAgain = 20 * time.Millisecond

// Patience is the time that one startup probe waits before it ends with what keeps the gate closed besides missing
// data. The kubelet makes an Event of that, and runs the probe again (TRUST.md A4).
const Patience = 30 * time.Second

// answerTimeout bounds how long the agent may take to name its trouble.
const answerTimeout = 5 * time.Second

// Wait returns when the gate is open: because opened is there, or because the
// agent at socket answers so. After patience it returns an error if anything but
// data is missing; else it goes on until ctx is done.
func Wait(ctx context.Context, socket string, opened File, patience time.Duration) error {
	return await(ctx, socket, patience, func(ctx context.Context) bool {
		return opened.Exists() || ask(ctx, socket, pathGate, io.Discard) == nil
	})
}

// Gate is Wait in a container that does not see the file.
func Gate(ctx context.Context, socket string, patience time.Duration) error {
	return await(ctx, socket, patience, func(ctx context.Context) bool {
		return ask(ctx, socket, pathGate, io.Discard) == nil
	})
}

// ErrEnvFiles reports a kubelet that does not read variables from the agent's file (TRUST.md A5).
var ErrEnvFiles = errors.New("EnvFiles: the kubelet of this node does not read variables from files, so that they would be empty: " +
	"use a node with Kubernetes 1.35 or newer and feature gate EnvFiles")

// Canary returns ErrEnvFiles unless the kubelet has read the canary from the agent's file.
func Canary(getenv func(string) string) error {
	if getenv(injection.CanaryVariable) != injection.CanaryValue {
		return ErrEnvFiles
	}
	return nil
}

// WaitFor returns when all files are there: a container that starts earlier
// would find none. It ends with an error as Wait does.
func WaitFor(ctx context.Context, socket string, patience time.Duration, files ...File) error {
	return await(ctx, socket, patience, func(context.Context) bool {
		return !slices.ContainsFunc(files, func(f File) bool { return !f.Exists() })
	})
}

// await returns when done reports true.
func await(ctx context.Context, socket string, patience time.Duration, done func(context.Context) bool) error {
	for {
		until, cancel := context.WithTimeout(ctx, patience)
		is := poll(until, done)
		cancel()
		if is {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := trouble(ctx, socket); err != nil {
			return err
		}
	}
}

// poll reports whether done reports true before ctx is.
func poll(ctx context.Context, done func(context.Context) bool) bool {
	for !done(ctx) {
		if pause(ctx) != nil {
			return false
		}
	}
	return true
}

// trouble returns what keeps the gate closed besides missing data; nil if nothing does.
func trouble(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var why strings.Builder
	if err := ask(ctx, socket, pathTrouble, &why); err != nil {
		return fmt.Errorf("the agent does not answer: %w: see its log", err)
	}
	if why.Len() > 0 {
		return errors.New(why.String())
	}
	return nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lookAgain):
		return nil
	}
}

// Status copies what the agent at socket says of itself to w.
func Status(ctx context.Context, socket string, w io.Writer) error {
	if err := ask(ctx, socket, pathStatus, w); err != nil {
		return fmt.Errorf("cannot reach the agent at %s: %w", socket, err)
	}
	return nil
}

func ask(ctx context.Context, socket, path string, w io.Writer) error {
	return exchange(ctx, socket, http.MethodGet, path, nil, w)
}

func post(ctx context.Context, socket, path string, body []byte, w io.Writer) error {
	return exchange(ctx, socket, http.MethodPost, path, body, w)
}

func exchange(ctx context.Context, socket, method, path string, body []byte, w io.Writer) error {
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %s", response.Status)
	}
	_, err = io.Copy(w, response.Body)
	return err
}
