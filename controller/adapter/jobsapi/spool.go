package jobsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
)

// Spool is the transport of one attempt. While the jobs API is out of reach for longer than a run may be silent, or when the
// program has ended, it keeps what the attempt leaves in files: its state, its output and its end. Their contents are
// encrypted to a key that only the controller has. They are sent in their order afterwards.
type Spool struct {
	Below http.RoundTripper
	// Address is that of the controller, Folder has the files.
	Address, Folder string
	// Recipient returns the public key to encrypt to; "" to keep nothing.
	Recipient func() string
	// Patience is how long the jobs API may be out of reach before something is kept, while the program runs.
	Patience time.Duration
	// Stopped reports that the program has ended: then nothing is gained by patience. nil for never.
	Stopped func() bool
	Clock   func() time.Duration

	// sending is held while files are sent, so that nothing overtakes them.
	sending sync.Mutex
	mutex   sync.Mutex
	// reached is when the jobs API answered last; before that, when it was first called.
	reached time.Duration
	called  bool
	// cut reports that the last call had no answer at all.
	cut bool
}

// brief is how long the jobs API may be out of reach before something is kept when the program has ended.
const brief = 5 * time.Second

var _ http.RoundTripper = (*Spool)(nil)

// envelope is the head of a request that is kept, in one line above its body.
type envelope struct {
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"`
}

// The ends of paths of requests that need what was sent before them.
const (
	endName        = "/end"
	checkpointName = "/checkpoint"
)

// RoundTrip implements http.RoundTripper. What waits is sent before a request that leaves something or needs that.
func (s *Spool) RoundTrip(r *http.Request) (*http.Response, error) {
	needs := strings.HasSuffix(r.URL.Path, checkpointName)
	if !needs && r.Method != http.MethodPut && !strings.HasSuffix(r.URL.Path, endName) {
		return s.pass(r)
	}
	s.sending.Lock()
	waits := len(s.files()) > 0
	err := s.flush(r.Context())
	s.sending.Unlock()
	switch {
	case err == nil && (waits || needs || !s.away()):
		return s.pass(r)
	case needs || s.Recipient() == "":
		return nil, err
	}
	if err := s.keep(r); err != nil {
		return nil, fmt.Errorf("cannot keep what waits for the controller: %w", err)
	}
	return &http.Response{StatusCode: http.StatusOK, Proto: r.Proto, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// away reports whether the jobs API is out of reach for long, so that what an attempt leaves is kept. One that answers, and
// cannot store it, is waited for: the keeper renews the hold meanwhile.
func (s *Spool) away() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.Recipient() == "" || !s.called {
		return false
	}
	silent := s.Clock() - s.reached
	return silent >= s.Patience || s.cut && silent >= brief && s.Stopped != nil && s.Stopped()
}

// flush sends what waits, until that fails.
func (s *Spool) flush(ctx context.Context) error {
	for _, one := range s.files() {
		if err := s.deliver(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// pass sends a request, and notes whether it was answered.
func (s *Spool) pass(r *http.Request) (*http.Response, error) {
	s.mutex.Lock()
	if !s.called {
		s.called, s.reached = true, s.Clock()
	}
	s.mutex.Unlock()
	answer, err := s.Below.RoundTrip(r)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cut = err != nil && !errors.Is(r.Context().Err(), context.Canceled)
	if err == nil && answer.StatusCode < http.StatusInternalServerError {
		s.reached = s.Clock()
	}
	return answer, err
}

// files returns the files in their order.
func (s *Spool) files() []string {
	all, _ := filepath.Glob(filepath.Join(s.Folder, "*.request")) // the pattern is a good one
	return all
}

// Empty reports whether nothing waits.
func (s *Spool) Empty() bool { return len(s.files()) == 0 }

// Ended reports whether the end of the attempt is kept: nothing but its delivery is left to do.
func (s *Spool) Ended() bool {
	return slices.ContainsFunc(s.files(), func(path string) bool {
		head, body, err := s.open(path)
		return err == nil && body.Close() == nil && strings.HasSuffix(head.Path, endName)
	})
}

// keep writes a request into a file, whole or not at all.
func (s *Spool) keep(r *http.Request) error {
	defer r.Body.Close() //nolint:errcheck // it is only read
	to, err := age.ParseRecipients(strings.NewReader(s.Recipient()))
	if err != nil {
		return err
	}
	head, err := json.Marshal(envelope{Method: r.Method, Path: r.URL.EscapedPath(), Header: r.Header})
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(s.Folder, ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone where all went well
	_, err = file.Write(append(head, '\n'))
	if err == nil {
		err = seal(file, r.Body, to)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	number := 0
	if files := s.files(); len(files) > 0 {
		_, _ = fmt.Sscanf(filepath.Base(files[len(files)-1]), "%d", &number) // it is named so below
	}
	err = os.Rename(file.Name(), filepath.Join(s.Folder, fmt.Sprintf("%08d.request", number+1)))
	return errors.Join(err, durable(s.Folder), durable(filepath.Dir(s.Folder)))
}

// durable keeps the names in a folder from a failure of power: the plain files of the attempt are removed next.
func durable(folder string) error {
	opened, err := os.Open(filepath.Clean(folder))
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// seal encrypts a content.
func seal(out io.Writer, content io.Reader, to []age.Recipient) error {
	in, err := age.Encrypt(out, to...)
	if err != nil {
		return err
	}
	_, err = io.Copy(in, content)
	return errors.Join(err, in.Close())
}

// open reads the head of a file. The body is sealed.
func (s *Spool) open(path string) (head envelope, body *os.File, err error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return envelope{}, nil, err
	}
	var line []byte
	for one := make([]byte, 1); err == nil && (len(one) == 0 || one[0] != '\n'); {
		_, err = io.ReadFull(file, one)
		line = append(line, one...)
	}
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err != nil {
		return envelope{}, nil, errors.Join(fmt.Errorf("cannot read %s: %w", path, err), file.Close())
	}
	return head, file, nil
}

// Deliver sends what is kept, until nothing is left or the context ends. What the controller refuses for ever is dropped.
// pause waits after so many failures in a row.
func (s *Spool) Deliver(ctx context.Context, pause func(failed int, err error)) error {
	for failed := 1; ctx.Err() == nil; failed++ {
		s.sending.Lock()
		err := s.flush(ctx)
		s.sending.Unlock()
		if err == nil {
			return nil
		}
		pause(failed, err)
	}
	return ctx.Err()
}

// deliver sends one request, and removes its file.
func (s *Spool) deliver(ctx context.Context, path string) error {
	head, body, err := s.open(path)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it is only read
	address, err := url.Parse(strings.TrimSuffix(s.Address, "/") + head.Path)
	if err != nil {
		return err
	}
	r := (&http.Request{Method: head.Method, URL: address, Host: address.Host, Header: head.Header, Body: body}).WithContext(ctx)
	r.Header.Set(runner.Sealed, "true")
	answer, err := s.Below.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("cannot reach the jobs API: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only its error counts
	if answer.StatusCode >= http.StatusMultipleChoices {
		err := refusal(answer)
		_, waits := errors.AsType[undecided](err)
		if waits || answer.StatusCode == http.StatusForbidden || answer.StatusCode >= http.StatusInternalServerError {
			return err
		}
		glog.Errorf("the controller refuses what was kept for it as %s: %v", head.Path, err)
	}
	return os.Remove(path)
}
