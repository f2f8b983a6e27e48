package review

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// maxWarning is the longest warning that every client shows, in bytes
// (INJECTION.md I1).
const maxWarning = 255

// Answer is the answer of a webhook.
type Answer struct {
	// Refused says why the object must not be; nil allows it.
	Refused error
	// Patch lists the additions to the object.
	Patch []jsonpatch.Operation
	// Warnings reach the person who sent the object.
	Warnings []string
	// Audit is written to the audit log, by name.
	Audit map[string]string
}

// Handler answers AdmissionReviews.
type Handler[T any] struct {
	// Concerns reports whether a request is one to judge; all others are
	// allowed as they are, even if their objects cannot be read.
	Concerns func(*Request[T]) bool
	// Read reads an object as far as it matters.
	Read func(*scan.Cursor, *T)
	// Judge decides. It makes no API call and does not block.
	Judge func(*Request[T]) Answer
}

// ServeHTTP answers one AdmissionReview, also where it cannot be read.
func (h Handler[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var t turn
	defer t.leave()
	request, err := h.read(w, r, &t)
	others := request != nil && request.UID != "" && !h.Concerns(request)
	switch {
	case err != nil && (!others || !errors.Is(err, scan.ErrType)):
		t.leave()
		deadline(w, time.Now().Add(drainWithin))
		drain(r)
		writeFault(w, request, err)
	case others:
		writeAnswer(w, request.UID, Answer{})
	default:
		writeAnswer(w, request.UID, h.judge(r, request))
	}
}

func writeFault[T any](w http.ResponseWriter, request *Request[T], err error) {
	glog.Warningf("refused an admission request: %v", err)
	status, uid := http.StatusInternalServerError, ""
	if f, ok := errors.AsType[*fault](err); ok {
		status = f.status
	}
	if request != nil {
		uid = request.UID
	}
	out := appendHead(nil, uid, false)
	out = appendStatus(out, status, err.Error())
	write(w, status, append(out, "}}\n"...))
}

func writeAnswer(w http.ResponseWriter, uid string, a Answer) {
	space, _ := outputs.Get().(*output)
	defer outputs.Put(space)
	out := appendHead(space.answer[:0], uid, a.Refused == nil)
	if a.Refused != nil {
		out = appendStatus(out, http.StatusForbidden, a.Refused.Error())
	}
	if len(a.Patch) > 0 && a.Refused == nil {
		space.patch = jsonpatch.Append(space.patch[:0], a.Patch)
		out = append(out, `,"patchType":"JSONPatch","patch":"`...)
		out = base64.StdEncoding.AppendEncode(out, space.patch)
		out = append(out, '"')
	}
	if len(a.Warnings) > 0 {
		out = append(out, `,"warnings":`...)
		short := make([]string, len(a.Warnings))
		for i, warning := range a.Warnings {
			short[i] = Shorten(warning)
		}
		out = appendJSON(out, short)
	}
	if len(a.Audit) > 0 {
		out = append(out, `,"auditAnnotations":`...)
		out = appendJSON(out, a.Audit)
	}
	space.answer = append(out, "}}\n"...)
	write(w, http.StatusOK, space.answer)
}

// output is the space in which an answer is written.
type output struct{ answer, patch []byte }

//nolint:gochecknoglobals // a pool is shared or useless
var outputs = sync.Pool{New: func() any { return new(output) }}

func appendHead(out []byte, uid string, allowed bool) []byte {
	out = append(out, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":`...)
	out = appendJSON(out, uid)
	out = append(out, `,"allowed":`...)
	return strconv.AppendBool(out, allowed)
}

func appendStatus(out []byte, code int, message string) []byte {
	out = append(out, `,"status":{"status":"Failure","code":`...)
	out = strconv.AppendInt(out, int64(code), 10)
	out = append(out, `,"message":`...)
	out = appendJSON(out, message)
	return append(out, '}')
}

func appendJSON(out []byte, v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		encoded = []byte("null") // text alone is given, which always can be written
	}
	return append(out, encoded...)
}

func write(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		glog.Warningf("cannot answer an admission request: %v", err)
	}
}

// Shorten cuts a warning to what clients show, between characters.
func Shorten(text string) string {
	if len(text) <= maxWarning {
		return text
	}
	cut := maxWarning - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Texts turns problems into warnings, each once.
func Texts[E error](problems []E) []string {
	var texts []string
	for _, p := range problems {
		if text := p.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
