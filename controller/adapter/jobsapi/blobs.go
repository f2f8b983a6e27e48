package jobsapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
)

// Put implements keeper.Blobs.
func (c *Client) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	return c.upload(ctx, pathOf(key), content, nil)
}

// Get implements keeper.Blobs.
func (c *Client) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	in, err := c.send(ctx, http.MethodGet, pathOf(key), http.NoBody, func(*http.Request) {})
	if err != nil {
		return nil, fmt.Errorf("cannot receive blob %s: %w", key, err)
	}
	return in, nil
}

// Content implements keeper.ContentSource.
func (c *Client) Content(ctx context.Context) (io.ReadCloser, error) {
	in, err := c.send(ctx, http.MethodGet, "content", http.NoBody, func(*http.Request) {})
	if err != nil {
		return nil, fmt.Errorf("cannot receive the content: %w", err)
	}
	return in, nil
}

// maxSecrets is how long sealed secrets may be, in bytes: a run has 32 of 1 MiB at most, which are longer in base64.
const maxSecrets = 64 << 20

// Tokens fetches the secrets of a run in a pod that are not in Secrets.
type Tokens struct{ Client *Client }

// Secrets implements keeper.SecretSource.
func (t Tokens) Secrets(ctx context.Context) (values map[string][]byte, err error) {
	text, err := t.Client.Secrets(ctx)
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	return values, err
}

// Secrets returns the secrets of the run: those of a node are sealed for its key.
func (c *Client) Secrets(ctx context.Context) ([]byte, error) {
	in, err := c.send(ctx, http.MethodGet, "secrets", http.NoBody, func(*http.Request) {})
	if err != nil {
		return nil, fmt.Errorf("cannot receive the secrets: %w", err)
	}
	defer in.Close() //nolint:errcheck // it is only read
	return io.ReadAll(io.LimitReader(in, maxSecrets))
}

// Below implements keeper.Blobs.
func (c *Client) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	in, err := c.send(ctx, http.MethodGet, fmt.Sprintf("blobs/%d", fence), http.NoBody, func(*http.Request) {})
	if err != nil {
		return nil, fmt.Errorf("cannot list the blobs of fence %d: %w", fence, err)
	}
	defer in.Close() //nolint:errcheck // it is only read
	var answer runner.Blobs
	if err := json.NewDecoder(in).Decode(&answer); err != nil {
		return nil, fmt.Errorf("cannot list the blobs of fence %d: %w", fence, err)
	}
	var all []blob.Info
	for _, one := range answer.Blobs {
		if strings.HasPrefix(one.Name, prefix) {
			all = append(all, blob.Info{Key: blob.Key{Workspace: workspace, Fence: fence, Name: one.Name}, Size: one.Size})
		}
	}
	return all, nil
}

func pathOf(k blob.Key) string { return fmt.Sprintf("blobs/%d/%s", k.Fence, url.PathEscape(k.Name)) }

// Write implements chunk.Sink.
func (c *Client) Write(ctx context.Context, k chunk.Chunk) error {
	ctx, end := context.WithTimeout(ctx, c.Timeout)
	defer end()
	path := fmt.Sprintf("logs/%d/%s/%d", k.Fence, url.PathEscape(k.Stream), k.Number)
	headers := map[string]string{
		runner.Position: strconv.FormatInt(k.Position, 10), runner.Missing: strconv.FormatInt(k.Missing, 10),
	}
	if k.File != "" {
		headers[runner.File] = k.File
	}
	if k.Last {
		headers[runner.Last] = "true"
	}
	return c.upload(ctx, path, bytes.NewReader(k.Content), headers)
}

// upload sends content with its digest.
func (c *Client) upload(ctx context.Context, path string, content io.ReadSeeker, headers map[string]string) error {
	digest := sha256.New()
	_, err := content.Seek(0, io.SeekStart)
	var size int64
	if err == nil {
		size, err = io.Copy(digest, content)
	}
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("cannot send %s: %w", path, err)
	}
	answer, err := c.send(ctx, http.MethodPut, path, io.NopCloser(content), func(r *http.Request) {
		r.ContentLength = size
		r.Header.Set(runner.Digest, hex.EncodeToString(digest.Sum(nil)))
		for name, value := range headers {
			r.Header.Set(name, value)
		}
	})
	if err != nil {
		return fmt.Errorf("cannot send %s: %w", path, err)
	}
	return answer.Close()
}
