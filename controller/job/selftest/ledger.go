package selftest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// ledger has what one run stores, in memory, and grants it each claim.
type ledger struct {
	mutex     sync.Mutex
	cancelled bool
	renewed   int
	// gate holds states back until it is closed; nil for none.
	gate   chan struct{}
	blobs  map[string][]byte
	chunks map[string]map[int64]chunk.Chunk
	end    *keeper.End
}

var (
	_ keeper.Ledger = (*ledger)(nil)
	_ keeper.Blobs  = (*ledger)(nil)
	_ chunk.Sink    = (*ledger)(nil)
)

func newLedger() *ledger {
	return &ledger{blobs: map[string][]byte{}, chunks: map[string]map[int64]chunk.Chunk{}}
}

// Claim implements keeper.Ledger.
func (l *ledger) Claim(_ context.Context, c keeper.Claimant) (keeper.Hold, error) {
	return keeper.Hold{
		Workspace: c.Run, Fence: 1, Parameters: Parameters, Environment: []string{contract.VariableGeneration + "=0"}, Lost: lost, Grace: Grace,
	}, nil
}

// Renew implements keeper.Ledger.
func (l *ledger) Renew(context.Context, keeper.Holder, job.Delay) (keeper.Renewal, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.renewed++
	return keeper.Renewal{Cancel: l.cancelled}, nil
}

// Checkpoint implements keeper.Ledger.
func (l *ledger) Checkpoint(context.Context, keeper.Holder, keeper.Checkpoint) error { return nil }

// End implements keeper.Ledger.
func (l *ledger) End(_ context.Context, _ keeper.Holder, e keeper.End) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.end = &e
	return nil
}

// Put implements keeper.Blobs.
func (l *ledger) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	l.mutex.Lock()
	gate := l.gate
	l.mutex.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	text, err := io.ReadAll(content)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.blobs[key.Name] = text
	return err
}

// Get implements keeper.Blobs.
func (l *ledger) Get(_ context.Context, key blob.Key) (io.ReadCloser, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	text, there := l.blobs[key.Name]
	if !there {
		return nil, fmt.Errorf("cannot find blob %s: %w", key, blob.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// Below implements keeper.Blobs. A run that begins finds nothing.
func (l *ledger) Below(context.Context, string, int64, string) ([]blob.Info, error) { return nil, nil }

// Write implements chunk.Sink.
func (l *ledger) Write(_ context.Context, c chunk.Chunk) error {
	name := c.Stream
	if c.File != "" {
		file, err := log.UnescapeName(c.File)
		if err != nil {
			return err
		}
		name = contract.Logs + "/" + file
	}
	c.Content = bytes.Clone(c.Content)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.chunks[name] == nil {
		l.chunks[name] = map[int64]chunk.Chunk{}
	}
	l.chunks[name][c.Number] = c
	return nil
}

// cancel cancels the run.
func (l *ledger) cancel() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.cancelled = true
}

// hold holds states back until release is called.
func (l *ledger) hold() (release func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	gate := make(chan struct{})
	l.gate = gate
	return func() { close(gate) }
}

// renewals returns how often the run was renewed.
func (l *ledger) renewals() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.renewed
}

// result returns how the run has ended and what it stored, which it unpacks in a folder for temporary files.
func (l *ledger) result(folder string) (Result, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.end == nil {
		return Result{}, fmt.Errorf("it has recorded no end")
	}
	p := l.end.Process
	r := Result{
		Code: p.Code, Outcome: l.end.Outcome, Killed: p.Ran && p.Killed, Outputs: l.end.Outputs, State: map[string]string{},
		Logs: map[string]string{}, Whole: true,
	}
	for name, chunks := range l.chunks {
		var text strings.Builder
		next := int64(1)
		ended := false
		for _, number := range slices.Sorted(maps.Keys(chunks)) {
			c := chunks[number]
			r.Whole = r.Whole && number == next && c.Missing == 0
			next, ended = number+1, c.Last
			text.Write(c.Content)
		}
		r.Logs[name], r.Whole = text.String(), r.Whole && ended
	}
	if s := l.end.State; s != nil {
		return r, files(bytes.NewReader(l.blobs[s.Blob.Name]), *s, folder, r.State)
	}
	return r, nil
}

// files reads the files of an archive, by a folder in another one.
func files(archive io.ReadSeeker, s keeper.State, within string, into map[string]string) error {
	folder, err := os.MkdirTemp(within, ".selftest-")
	if err != nil {
		return fmt.Errorf("cannot read the state: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	if err := state.Restore(folder, archive, s.Digest, s.Size); err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(folder), path)
		into[path] = string(text)
		return err
	})
}
