package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
)

// Head is the first line of a stored chunk, before its content.
type Head struct {
	// Position is that of the first byte in the output; Missing is how many bytes before it are lost.
	Position int64 `json:"position"`
	Missing  int64 `json:"missing"`
	// Dropped is the number of bytes of the chunk that were not stored, since the output has reached its limit.
	Dropped int `json:"dropped,omitempty"`
}

// log stores a chunk of an output. One beyond the limits of an output is acknowledged, so that the keeper goes on, and
// of it only the size is stored.
func (a *API) log(w http.ResponseWriter, r *http.Request, c Caller) error {
	fence, err := number("fence", r.PathValue("fence"))
	if err == nil {
		err = a.owned(r.Context(), c, fence)
	}
	if err != nil {
		return err
	}
	content, err := received(w, r, log.MaxChunk)
	if err != nil {
		return err
	}
	n, err := number("number", r.PathValue("number"))
	if err != nil {
		return err
	}
	head, err := headOf(r)
	if err != nil {
		return err
	}
	name, err := log.Key(r.PathValue("stream"), n)
	if err != nil {
		return fmt.Errorf("%w: %w", workspace.ErrInvalid, err)
	}
	if head.Position+int64(len(content)) > log.MaxBytes {
		head.Dropped, content = len(content), nil
	}
	if n <= log.MaxChunks {
		key := blob.Key{Workspace: c.Workspace, Fence: fence, Name: logPrefix + strings.ReplaceAll(name, "/", "-")}
		if err := a.store(r, key, head, content); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// headOf returns what the headers of a request say about a chunk.
func headOf(r *http.Request) (h Head, err error) {
	if h.Position, err = number(runner.Position, r.Header.Get(runner.Position)); err == nil {
		h.Missing, err = number(runner.Missing, r.Header.Get(runner.Missing))
	}
	return h, err
}

// store stores a chunk behind its head.
func (a *API) store(r *http.Request, key blob.Key, h Head, content []byte) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return a.Store.Put(r.Context(), key, bytes.NewReader(append(append(text, '\n'), content...)))
}
