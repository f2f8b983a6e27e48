package keeper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/backend"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// captures are the archives of one run, one at a time.
type captures struct {
	run *run

	// storing is held while a checkpoint is stored, so that sequences are recorded in order.
	storing sync.Mutex

	mutex    sync.Mutex
	sequence int64
	// last is the digest of the last archive that is recorded.
	last string
	// pending is held by a checkpoint that goes on beside the run.
	pending sync.WaitGroup
	busy    bool
}

// begin stores a checkpoint beside the run, unless the last one is not stored yet.
func (c *captures) begin(ctx context.Context) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.busy {
		return
	}
	c.busy = true
	c.pending.Go(func() {
		if err := c.checkpoint(ctx); err != nil {
			glog.Warningf("cannot store a checkpoint: %v", err)
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.busy = false
	})
}

// cure ends a message about a state that is too large.
const cure = ", or raise spec.state.maxSize of the JobWorkspace"

// checkpoint stores the state of a run that goes on, if it has changed since the last time. A state that is too
// large, or of another's hold, stops the template.
func (c *captures) checkpoint(ctx context.Context) error {
	c.storing.Lock()
	defer c.storing.Unlock()
	a, err := c.run.packStill(ctx, c.run.state(), c.run.Settings.Limit)
	if errors.Is(err, state.ErrTooLarge) {
		c.run.stop(err.Error() + cure)
	}
	if err != nil {
		return err
	}
	defer a.remove()
	if c.known(a.Digest) {
		return nil
	}
	var stored State
	err = c.run.persist(ctx, "store a checkpoint", func() (err error) {
		stored, err = c.run.upload(ctx, a)
		return err
	})
	if err != nil {
		return err
	}
	p := Checkpoint{Sequence: c.next(), State: stored, Torn: a.Torn}
	err = c.run.persist(ctx, "record a checkpoint", func() error { return c.run.Ledger.Checkpoint(ctx, c.run.holder, p) })
	if final(err) {
		c.run.stop(err.Error())
	}
	if err == nil && !a.Torn {
		c.record(a.Digest)
	}
	return err
}

// final captures the state that the template left, and returns the end that it means.
func (c *captures) final(ctx context.Context, process exchange.Ended) End {
	c.pending.Wait()
	r := c.run
	e := End{Outcome: job.Failed, Base: r.hold.Generation, Process: process}
	problem := r.unknown
	if problem == nil {
		e.Outputs, problem = outputs(r.Settings.State, r.Settings.Secrets)
	}
	a, err := r.packStill(ctx, r.state(), job.MaxOrphan(r.Settings.Limit))
	if err != nil {
		e.Message = errors.Join(err, problem).Error()
		return e
	}
	defer a.remove()
	if a.Torn {
		problem = errors.Join(problem, errors.New("the state changed while it was captured: a process outside of the container writes it"))
	}
	switch {
	case a.Digest == r.base():
		e.Outcome = job.Unchanged
	case r.base() == "" && a.empty:
		e.Outcome = job.Unchanged
	case a.Size > r.Settings.Limit:
		e.Outcome = job.Orphaned
		problem = errors.Join(problem, fmt.Errorf("%w: as an archive it has %d bytes, more than %d: remove or exclude files%s",
			state.ErrTooLarge, a.Size, r.Settings.Limit, cure))
	default:
		e.Outcome = job.Committed
	}
	if problem != nil {
		e.Message = problem.Error()
	}
	if e.Outcome == job.Unchanged {
		return e
	}
	err = r.persist(ctx, "store the state", func() error {
		stored, err := r.upload(ctx, a)
		e.State = &stored
		return err
	})
	if err != nil {
		return End{Outcome: job.Failed, Base: e.Base, Process: process, Message: err.Error()}
	}
	return e
}

// stillTries is how often a state that changes is captured.
const stillTries = 10

// packStill captures a folder when nothing changes it any more, or as it is after some tries.
func (r *run) packStill(ctx context.Context, of parcel, limit int64) (packed, error) {
	for try := 1; ; try++ {
		a, err := r.pack(of, limit)
		if err != nil || !a.Torn || try == stillTries || ctx.Err() != nil {
			return a, err
		}
		a.remove()
		select {
		case <-ctx.Done():
		case <-time.After(r.pause(1)):
		}
	}
}

func (c *captures) known(digest string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return digest == c.last
}

func (c *captures) next() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sequence++
	return c.sequence
}

func (c *captures) record(digest string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.last = digest
}

// outputs returns what the template wrote as outputs. One that has a secret of a folder is marked as sensitive.
func outputs(folder, secrets string) (string, error) {
	known := redaction.Mounted{Path: secrets}
	values, err := known.Values()
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // it is only read
	info, err := root.Lstat(contract.OutputsFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > contract.MaxOutputBytes:
		return "", fmt.Errorf("cannot use %s: it is not a file, or larger than %d bytes", contract.OutputsFile, contract.MaxOutputBytes)
	}
	text, err := root.ReadFile(contract.OutputsFile)
	if err != nil {
		return "", err
	}
	return contract.Mark(string(text), values.Has)
}

// parcel is a folder that is captured, and the prefix of its blob's name.
type parcel struct {
	folder, prefix string
	// below is the part of the folder that is captured; "" for all.
	below   string
	exclude state.Exclude
}

// The prefixes of blobs.
const (
	statePrefix = "state-"
	planPrefix  = "plan-"
)

// state returns the folder of the state without what is not a part of it.
func (k *Keeper) state() parcel {
	own := k.Settings.Exclude.With(contract.ParametersFile, contract.OutputsFile, contract.PlanFolder, backend.Aside)
	return parcel{folder: k.Settings.State, prefix: statePrefix, exclude: own}
}

// packed is an archive in the scratch folder.
type packed struct {
	state.Summary

	path, prefix string
	// digest is that of the packed archive, size its size.
	digest string
	// empty reports that the state has no files.
	empty bool
}

func (p packed) remove() { _ = os.Remove(p.path) } // the scratch folder goes with the run

// pack captures a folder into the scratch folder.
func (k *Keeper) pack(of parcel, limit int64) (packed, error) {
	file, err := os.CreateTemp(k.Settings.Scratch, of.prefix)
	if err != nil {
		return packed{}, fmt.Errorf("cannot capture the state: %w", err)
	}
	digest := sha256.New()
	p := packed{path: file.Name(), prefix: of.prefix}
	p.Summary, err = state.Capture(io.MultiWriter(file, digest), of.folder, state.Options{Below: of.below, Exclude: of.exclude, Limit: limit})
	if err = errors.Join(err, file.Close()); err != nil {
		p.remove()
		return packed{}, err
	}
	p.digest = hex.EncodeToString(digest.Sum(nil))
	p.empty = p.Size <= emptySize
	return p, nil
}

// emptySize is the size of an archive without entries: its end.
const emptySize = 1024

// upload stores an archive under the fence. It is known by its own content, so that it may be stored again.
func (r *run) upload(ctx context.Context, p packed) (State, error) {
	file, err := os.Open(filepath.Clean(p.path))
	if err != nil {
		return State{}, fmt.Errorf("cannot store the state: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	stored := State{
		Digest: p.Digest, Size: p.Size,
		Blob: blob.Key{Workspace: r.hold.Workspace, Fence: r.hold.Fence, Name: p.prefix + p.digest + ".tar.zst"},
	}
	return stored, r.Blobs.Put(ctx, stored.Blob, file)
}

// errGivenUp ends a fetch that cannot succeed, or whose result is not needed.
var errGivenUp = errors.New("given up")

// fetch restores a stored archive into a folder, which is empty.
func (r *run) fetch(ctx context.Context, s State, folder string) error {
	file, err := os.CreateTemp(r.Settings.Scratch, "restore-")
	if err != nil {
		return fmt.Errorf("cannot fetch the state: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the scratch folder goes with the run
	defer file.Close()           //nolint:errcheck // it is read to its end
	err = r.download(ctx, "fetch the state", file, func() (io.ReadCloser, error) { return r.Blobs.Get(ctx, s.Blob) })
	if err != nil {
		return fmt.Errorf("cannot fetch the state: %w", err)
	}
	return state.Restore(folder, file, s.Digest, s.Size)
}

// download writes a stored blob into a file, until it is there whole. One that is not stored is given up.
func (r *run) download(ctx context.Context, what string, file *os.File, get func() (io.ReadCloser, error)) error {
	return r.persist(ctx, what, func() error {
		if reason := r.reason(); reason != "" {
			return fmt.Errorf("%w: %s", errGivenUp, reason)
		}
		in, err := get()
		if errors.Is(err, blob.ErrNotFound) {
			return errors.Join(err, errGivenUp)
		}
		if err != nil {
			return err
		}
		return errors.Join(replace(file, in), in.Close())
	})
}

// replace replaces the text of a file.
func replace(file *os.File, in io.Reader) error {
	_, err := file.Seek(0, io.SeekStart)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = io.Copy(file, in)
	}
	return err
}
