package serve

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// log stores a chunk of an output. One beyond the limits of an output is acknowledged, so that the keeper goes on, and
// of it only the size is stored. The last one shows how much is missing.
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
	if err = errors.Join(err, head.Check(r.PathValue("stream"))); err != nil {
		return fmt.Errorf("%w: %w", workspace.ErrInvalid, err)
	}
	if head.Position+int64(len(content)) > log.MaxBytes {
		head.Dropped, content = len(content), nil
	}
	if n <= log.MaxChunks || head.Last {
		key := blob.Key{Workspace: c.Workspace, Fence: fence, Name: name}
		if err := a.store(r, key, head, content); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// headOf returns what the headers of a request say about a chunk.
func headOf(r *http.Request) (h log.Head, err error) {
	h.File, h.Last = r.Header.Get(runner.File), r.Header.Get(runner.Last) == "true"
	if h.Position, err = number(runner.Position, r.Header.Get(runner.Position)); err == nil {
		h.Missing, err = number(runner.Missing, r.Header.Get(runner.Missing))
	}
	return h, err
}

// store stores a chunk behind its head.
func (a *API) store(r *http.Request, key blob.Key, h log.Head, content []byte) error {
	text, err := h.Encode(content)
	if err != nil {
		return err
	}
	return a.Store.Put(r.Context(), key, bytes.NewReader(text))
}
