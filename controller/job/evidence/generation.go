package evidence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// generation is the record of a generation.
type generation struct {
	Digest string `json:"digest"`
	Key    string `json:"key"`
}

// generationDigits is the number of digits of a generation in a name.
const generationDigits = 10

// Record records that the current generation of a stored Workspace exists, below the fence of its archive.
func Record(ctx context.Context, store blob.Store, uid string, w workspace.Workspace) error {
	return recordBelow(ctx, store, uid, w, w.State.Fence)
}

// RecordDecided records the generation that a person's decision made current. Its archive may be that of an earlier fence, so
// the current fence has the record too: Extent looks there.
func RecordDecided(ctx context.Context, store blob.Store, uid string, w workspace.Workspace) error {
	return errors.Join(Record(ctx, store, uid, w), recordBelow(ctx, store, uid, w, w.Fence))
}

func recordBelow(ctx context.Context, store blob.Store, uid string, w workspace.Workspace, fence int64) error {
	g := w.State
	key := blob.Key{Workspace: uid, Fence: fence, Name: fmt.Sprintf("%s%0*d", generationPrefix, generationDigits, g.Number)}
	if g.Number == 0 || g.Fence == 0 || key.Check() != nil {
		return nil //nolint:nilerr // a state of another store is not recorded
	}
	text, err := json.Marshal(generation{g.Digest, g.Key})
	if err == nil {
		err = store.Put(ctx, key, bytes.NewReader(text))
	}
	if err != nil {
		return fmt.Errorf("cannot record generation %d of %s in the store: %w", g.Number, w.Name, err)
	}
	return nil
}

// Recorded reports whether the store has a record that an archive was that of a generation, which may no longer be kept.
func Recorded(ctx context.Context, store blob.Store, uid string, b workspace.Blob) (bool, error) {
	all, err := store.Below(ctx, uid, b.Fence, generationPrefix)
	if err != nil {
		return false, err
	}
	for _, one := range all {
		var known generation
		if err := read(ctx, store, one.Key, &known); err != nil || known.Key == b.Key {
			return err == nil, err
		}
	}
	return false, nil
}

// numberOf returns the number of the generation that a blob records; false for another blob.
func numberOf(key blob.Key) (int64, bool, error) {
	text, ok := strings.CutPrefix(key.Name, generationPrefix)
	if !ok {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("cannot read the name of blob %s: %w", key, err)
	}
	return n, true, nil
}

// Newest returns the archive and the number of the newest generation that the store has a record of; zero values for
// none. If lineages have parted, that of the highest fence counts.
func Newest(ctx context.Context, store blob.Store, uid string) (workspace.Blob, int64, error) {
	all, err := store.List(ctx, uid)
	if err != nil {
		return workspace.Blob{}, 0, err
	}
	var newest blob.Key
	var number int64
	for _, one := range all { // in order of their fences
		n, is, err := numberOf(one.Key)
		if err != nil {
			return workspace.Blob{}, 0, err
		}
		if is && n >= number {
			newest, number = one.Key, n
		}
	}
	if newest.Name == "" {
		return workspace.Blob{}, 0, nil
	}
	var known generation
	if err := read(ctx, store, newest, &known); err != nil {
		return workspace.Blob{}, 0, err
	}
	fence := newest.Fence
	if archive, err := blob.ParseKey(known.Key); err == nil {
		fence = archive.Fence
	}
	return workspace.Blob{Digest: known.Digest, Key: known.Key, Fence: fence}, number, nil
}
