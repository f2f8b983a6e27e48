package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// lookAgain is how soon to look again for an agent that does not listen yet.
const lookAgain = 20 * time.Millisecond

// Wait returns when the gate is open: because opened is there, or because the
// agent at socket says so. An agent that is not there yet, or no more, is waited
// for; only ctx ends that (SAFETY.md I19).
func Wait(ctx context.Context, socket string, opened File) error {
	for {
		if opened.Exists() {
			return nil
		}
		if err := ask(ctx, socket, pathGate, io.Discard); err == nil {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// WaitFor returns when file is there. A pod whose gate is none waits so for the
// env file, without which the kubelet starts no container.
func WaitFor(ctx context.Context, file File) error {
	for !file.Exists() {
		if err := pause(ctx); err != nil {
			return err
		}
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
