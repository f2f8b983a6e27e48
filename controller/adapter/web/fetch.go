package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

const (
	// attempts is how often a server is asked that breaks off, hangs or is busy.
	attempts = 4
	// maxRedirects is how often it may send elsewhere.
	maxRedirects = 5
)

// Client fetches from web servers.
type Client struct {
	// Transport carries requests; nil is the standard library's.
	Transport   http.RoundTripper
	Credentials bundle.Credentials
	// Silence is how long a server may send nothing; Pause is the time before the next
	// attempt, which doubles.
	Silence, Pause time.Duration
}

// errFinal is wrapped by what another attempt would not change.
var errFinal = errors.New("not tried again")

// ErrMissing is wrapped where the server has nothing at the address, or no longer.
var ErrMissing = errors.New("the server has nothing at this address")

// Fetch returns the bytes at an address, at most bundle.MaxBytes. digest is their
// "sha256:…"; "" takes what comes. A page, a status other than success and other bytes
// are errors, and nothing is returned.
func (c Client) Fetch(ctx context.Context, address, digest string) ([]byte, error) {
	d := download{Client: c, address: address, pinned: digest != ""}
	err := d.all(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the archive: %w", err)
	}
	if sum := Sum(d.got); digest != "" && sum != digest {
		return nil, fmt.Errorf("cannot use the archive: its checksum is %s, not %s: the archive was changed, or the checksum belongs to "+
			"another file", sum, digest)
	}
	return d.got, nil
}

// Ask returns the answer to a request in JSON, at most bundle.MaxBytes; nil asks with GET. The media type of the answer
// has no meaning, since servers call a word a page. What Fetch refuses is an error here too.
func (c Client) Ask(ctx context.Context, address string, request []byte) ([]byte, error) {
	d := download{Client: c, address: address, body: request, asking: true}
	if err := d.all(ctx); err != nil {
		return nil, err
	}
	return d.got, nil
}

// Sum returns the digest of an archive.
func Sum(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// download is one archive on its way, or one answer.
type download struct {
	Client
	address string
	// asking says that an answer is on its way, which begins anew where an archive goes on; body is sent for it.
	asking bool
	body   []byte
	// pinned says that the checksum will tell whether parts belong together.
	pinned bool
	got    []byte
	// version is the server's name for what it sends; "" is unknown.
	version string
	// stripped reports that the last redirect led to where the credentials are not sent.
	stripped bool
}

// all fetches until all is there.
func (d *download) all(ctx context.Context) error {
	pause := d.Pause
	for attempt := 1; ; attempt++ {
		err := d.once(ctx)
		if err == nil || errors.Is(err, errFinal) || attempt == attempts || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// once asks for what is missing and reads it.
func (d *download) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(d.Silence, func() { cancel(fmt.Errorf("the server sent nothing for %s", d.Silence)) })
	defer silent.Stop()
	request, err := d.request(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	d.stripped = false
	client := http.Client{Transport: d.Transport, CheckRedirect: d.redirect}
	response, err := client.Do(request)
	if err != nil {
		return errors.Join(context.Cause(ctx), failure(err))
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	if err := d.begin(response); err != nil {
		return err
	}
	return d.read(ctx, response.Body, silent)
}

// request asks for the archive, or for the rest of it.
func (d *download) request(ctx context.Context) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if d.body != nil {
		method, body = http.MethodPost, bytes.NewReader(d.body)
	}
	request, err := http.NewRequestWithContext(ctx, method, d.address, body)
	if err != nil {
		return nil, err
	}
	if d.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if err := d.safe(request.URL); err != nil {
		return nil, err
	}
	switch {
	case d.Credentials.Token != "":
		request.Header.Set("Authorization", "Bearer "+d.Credentials.Token)
	case d.Credentials.Username != "":
		request.SetBasicAuth(d.Credentials.Username, d.Credentials.Password)
	}
	// The bytes are wanted as they lie there, whatever they are packed with.
	request.Header.Set("Accept-Encoding", "identity")
	if !d.asking && len(d.got) > 0 && (d.version != "" || d.pinned) {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", len(d.got)))
		if d.version != "" {
			request.Header.Set("If-Range", d.version)
		}
	}
	return request, nil
}

// safe refuses an address without TLS if there are credentials, unless it is the machine's own (CONTENT.md X6).
func (d *download) safe(address *url.URL) error {
	if address.Scheme == "https" || d.Credentials.Token+d.Credentials.Username == "" {
		return nil
	}
	host := address.Hostname()
	if at, err := netip.ParseAddr(host); host == "localhost" || err == nil && at.IsLoopback() {
		return nil
	}
	return errors.New("credentials are not sent without TLS: use https://, or remove the credentials")
}

// redirect follows a few times, and never from a protected connection to an open one. Credentials go to the host and the
// port of the address alone: the library would send them to all ports of a host, and to its subdomains.
func (d *download) redirect(next *http.Request, before []*http.Request) error {
	other := next.URL.Scheme != before[0].URL.Scheme || next.URL.Host != before[0].URL.Host
	if d.stripped = other && before[0].Header.Get("Authorization") != ""; other {
		next.Header.Del("Authorization")
	}
	switch {
	case next.URL.Scheme != "https" && next.URL.Scheme != "http":
		return fmt.Errorf("%w: it redirects to an address that is neither https:// nor http://: check the address", errFinal)
	case len(before) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", errFinal, maxRedirects)
	case next.URL.Scheme != "https" && before[0].URL.Scheme == "https":
		return fmt.Errorf("%w: it redirects to an address which has no TLS", errFinal)
	default:
		return nil
	}
}

// begin looks at the head of an answer.
func (d *download) begin(response *http.Response) error {
	kept := fmt.Sprintf("bytes %d-", len(d.got))
	code, status := response.StatusCode, fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	switch {
	case code == http.StatusPartialContent && strings.HasPrefix(response.Header.Get("Content-Range"), kept):
	case code == http.StatusOK:
		d.got = nil
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return fmt.Errorf("the server answered %s", status)
	case code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable:
		d.got = nil
		return fmt.Errorf("the server answered %s with another range", status)
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && d.stripped:
		return fmt.Errorf("%w: the server answered %s: it redirected to another host or port, to which the credentials are not sent: use "+
			"the address that it redirects to", errFinal, status)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%w: the server answered %s: use credentials that can read it", errFinal, status)
	case code == http.StatusNotFound || code == http.StatusConflict || code == http.StatusGone:
		return fmt.Errorf("%w: %w: it answered %s: check the address", errFinal, ErrMissing, status)
	default:
		return fmt.Errorf("%w: the server answered %s: check the address", errFinal, status)
	}
	if kind := response.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") && !d.asking {
		return d.page()
	}
	if int64(len(d.got))+response.ContentLength > bundle.MaxBytes {
		return large()
	}
	if response.ContentLength > 0 { // a growing slice would take twice the memory
		d.got = slices.Grow(d.got, int(response.ContentLength)+1)
	}
	d.version = response.Header.Get("ETag")
	if strings.HasPrefix(d.version, "W/") {
		d.version = "" // it may stand for other bytes
	}
	return nil
}

// read reads the body to its end, as long as something comes.
func (d *download) read(ctx context.Context, body io.Reader, silent *time.Timer) error {
	part := make([]byte, 64<<10)
	for {
		n, err := body.Read(part)
		d.got = append(d.got, part[:n]...)
		switch {
		case len(d.got) > bundle.MaxBytes:
			return large()
		case errors.Is(err, io.EOF) && strings.HasPrefix(http.DetectContentType(d.got), "text/html"):
			return d.page()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errors.Join(context.Cause(ctx), fmt.Errorf("the connection broke after %d bytes: %w", len(d.got), err))
		}
		silent.Reset(d.Silence)
	}
}

// failure returns the error of a request without the address that a redirect leads to.
func failure(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	if _, refused := errors.AsType[*destination.RefusedError](err); refused {
		return fmt.Errorf("%w: %w", errFinal, err)
	}
	return err
}

func (d *download) page() error {
	expected := "an archive"
	if d.asking {
		expected = "data"
	}
	return fmt.Errorf("%w: the answer is a web page, not %s: check the address, and whether it needs credentials", errFinal, expected)
}

func large() error {
	return fmt.Errorf("%w: %w: it exceeds %d MiB", errFinal, bundle.ErrLimit, bundle.MaxBytes>>20)
}
