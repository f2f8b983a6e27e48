package review

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// MaxBody is the longest request that is read, in bytes: two objects of the
// API server's limit of 3 MiB each.
const MaxBody = 6 << 20

// maxDrain is the number of bytes that are read after a request that is refused. A server that closes a connection
// with unread data resets it, and the client loses the answer.
const maxDrain = 64 << 20

// maxPooled is the largest buffer that is kept for the next request.
const maxPooled = 256 << 10

// Request is the part of an AdmissionRequest that is read; T is the part of its objects.
type Request[T any] struct {
	UID         string
	Kind        Kind
	Resource    Resource
	SubResource string
	Namespace   string
	Operation   string
	DryRun      bool
	// User is the name of who asks.
	User      string
	Object    T
	OldObject T
}

// Kind is the kind of a request's object.
type Kind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// Resource is the resource that is asked for.
type Resource struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
}

// The operations of a request.
const (
	Create = "CREATE"
	Update = "UPDATE"
)

// fault is a request that cannot be judged, as an HTTP status.
type fault struct {
	status int
	cause  error
}

func (f *fault) Error() string { return f.cause.Error() }

func (f *fault) Unwrap() error { return f.cause }

func faultf(status int, format string, args ...any) *fault {
	return &fault{status: status, cause: fmt.Errorf(format, args...)}
}

//nolint:gochecknoglobals // a pool is shared or useless
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read reads one AdmissionReview, which waits for its turn where it is large. On a fault it returns the request as far as
// it could be read, for its UID.
func (h Handler[T]) read(w http.ResponseWriter, r *http.Request, t *turn) (*Request[T], error) {
	if r.Method != http.MethodPost {
		return nil, faultf(http.StatusMethodNotAllowed, "cannot %s an AdmissionReview: POST it", r.Method)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, faultf(http.StatusUnsupportedMediaType, "cannot read content type %q: send application/json", r.Header.Get("Content-Type"))
	}
	body, _ := buffers.Get().(*bytes.Buffer)
	body.Reset()
	defer func() {
		if body.Cap() <= maxPooled {
			buffers.Put(body)
		}
	}()
	if err := readBody(w, r, t, body); err != nil {
		return nil, err
	}
	if body.Len() > MaxBody {
		return salvage[T](body.Bytes()), faultf(http.StatusRequestEntityTooLarge, "cannot read the request: it is longer than %d bytes", MaxBody)
	}
	return h.decode(body.Bytes())
}

// readBody reads what is small at once, and the rest in its turn. It reads one byte more than MaxBody at most.
func readBody(w http.ResponseWriter, r *http.Request, t *turn, body *bytes.Buffer) error {
	size := int(min(max(r.ContentLength, 0), MaxBody)) // 0 if it is not said
	body.Grow(min(size, small) + bytes.MinRead)
	n, err := body.ReadFrom(io.LimitReader(r.Body, small))
	if err == nil && n == small {
		if err := t.take(w, r); err != nil {
			return err
		}
		body.Grow(max(size-small, 0) + bytes.MinRead)
		_, err = body.ReadFrom(io.LimitReader(r.Body, MaxBody+1-small))
		deadline(w, time.Time{})
	}
	if err != nil {
		return faultf(http.StatusBadRequest, "cannot read the request: %w", err)
	}
	return nil
}

func (h Handler[T]) decode(body []byte) (*Request[T], error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, faultf(http.StatusBadRequest, "cannot read the request: it is empty")
	}
	version, kind, request, err := h.envelope(body)
	switch {
	case err != nil:
		return salvage[T](body), faultf(http.StatusBadRequest, "cannot read the request: %w", err)
	case kind != "AdmissionReview" || version != "admission.k8s.io/v1":
		return request, faultf(http.StatusBadRequest,
			"cannot judge %s of %q: this webhook reads AdmissionReview of admission.k8s.io/v1",
			cmp.Or(kind, "an object"), version)
	case request == nil:
		return nil, faultf(http.StatusBadRequest, "cannot judge the AdmissionReview: it has no request")
	case request.UID == "":
		return request, faultf(http.StatusBadRequest, "cannot judge the request: it has no uid")
	default:
		return request, nil
	}
}

// envelope reads an AdmissionReview.
func (h Handler[T]) envelope(body []byte) (version, kind string, request *Request[T], err error) {
	c := scan.New(body)
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "apiVersion":
			version = c.Text()
		case "kind":
			kind = c.Text()
		case "request":
			request = h.request(c)
		default:
			c.Skip()
		}
	}
	c.End()
	return version, kind, request, c.Err()
}

func (h Handler[T]) request(c *scan.Cursor) *Request[T] {
	if c.Null() {
		return nil
	}
	r := &Request[T]{}
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "uid":
			r.UID = c.Text()
		case "kind":
			r.Kind.Group, r.Kind.Kind = named(c, "kind")
		case "resource":
			r.Resource.Group, r.Resource.Resource = named(c, "resource")
		case "subResource":
			r.SubResource = c.Text()
		case "namespace":
			r.Namespace = c.Text()
		case "operation":
			r.Operation = c.Text()
		case "dryRun":
			r.DryRun = c.Bool()
		case "userInfo":
			_, r.User = named(c, "username")
		case "object":
			h.Read(c, &r.Object)
		case "oldObject":
			h.Read(c, &r.OldObject)
		default:
			c.Skip()
		}
	}
	return r
}

// named reads the group of a kind or resource, and its name; of a user, who has no group of
// that kind, the name.
func named(c *scan.Cursor, field string) (group, name string) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "group":
			group = c.Text()
		case field:
			name = c.Text()
		default:
			c.Skip()
		}
	}
	return group, name
}

// salvage reads a request without its objects, or at least its UID, where all
// of it cannot be read: an answer without it is of no use to the API server.
// It never returns nil.
func salvage[T any](body []byte) *Request[T] {
	var in struct {
		Request struct {
			UID         string   `json:"uid"`
			Kind        Kind     `json:"kind"`
			Resource    Resource `json:"resource"`
			SubResource string   `json:"subResource"`
			Operation   string   `json:"operation"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return &Request[T]{UID: salvageUID(body)}
	}
	r := in.Request
	return &Request[T]{UID: r.UID, Kind: r.Kind, Resource: r.Resource, SubResource: r.SubResource, Operation: r.Operation}
}

// salvageUID finds the UID in what is not JSON to its end.
func salvageUID(body []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var (
		path []string
		key  string
	)
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		text, isText := token.(string)
		switch delim, _ := token.(json.Delim); {
		case delim == '{' || delim == '[':
			path, key = append(path, key), ""
		case delim != 0:
			path, key = path[:len(path)-1], ""
		case isText && key == "":
			key = text
		case isText && key == "uid" && len(path) == 2 && path[1] == "request":
			return text
		default:
			key = ""
		}
	}
}

// drain reads the rest of a refused request, at most maxDrain bytes.
func drain(r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
}
