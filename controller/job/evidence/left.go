package evidence

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// leftPrefix begins the names below which the store has records of Workspaces that are gone, where others have the UID of
// a Workspace. One such place has all that had the same namespace and name, so that a Workspace which is made anew finds
// them by one request.
const leftPrefix = "left-"

// Left describes the states of a deleted Workspace that the store still has. The record is written when the Workspace
// is deleted, or when the collector first misses it.
type Left struct {
	// Name is the namespace and name; "" if the store has no record of them.
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Generation is the number of the newest generation, and Archive its state; the zero value for an empty one.
	Generation int64          `json:"generation"`
	Archive    workspace.Blob `json:"archive"`
	// Destroyed reports that its last run destroyed the managed objects.
	Destroyed bool `json:"destroyed"`
	// Since is when the record was stored, by the store's clock; it is not part of the record.
	Since time.Time `json:"-"`
}

// Waits reports whether a Workspace that is made anew must not begin before a person has decided about the state.
func (l Left) Waits() bool { return l.Archive.Key != "" && !l.Destroyed }

// Leave stores a record. One that is stored already stays, unless it is of an earlier generation: the Workspace was not yet gone.
func Leave(ctx context.Context, store blob.Store, l Left) error {
	text, err := json.Marshal(l)
	if err == nil {
		err = store.Put(ctx, l.key(), bytes.NewReader(text))
	}
	if errors.Is(err, blob.ErrConflict) {
		var known Left
		if err = read(ctx, store, l.key(), &known); err == nil && known.Generation < l.Generation {
			err = errors.Join(Forget(ctx, store, l), store.Put(ctx, l.key(), bytes.NewReader(text)))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot record the state that JobWorkspace %s leaves: %w", l.Name, err)
	}
	return nil
}

// Forget deletes a record.
func Forget(ctx context.Context, store blob.Store, l Left) error { return store.Delete(ctx, l.key()) }

// key returns the key of a record.
func (l Left) key() blob.Key { return blob.Key{Workspace: placeOf(l.Name), Fence: 1, Name: l.UID} }

// placeOf returns where the records of a name lie.
func placeOf(name string) string {
	const digits = 40
	sum := sha256.Sum256([]byte(name))
	return leftPrefix + hex.EncodeToString(sum[:])[:digits]
}

// LeftBy returns what Workspaces of a namespace and name left, the newest first.
func LeftBy(ctx context.Context, store blob.Store, name string) ([]Left, error) {
	return leftBelow(ctx, store, placeOf(name))
}

func leftBelow(ctx context.Context, store blob.Store, place string) ([]Left, error) {
	found, err := store.Below(ctx, place, 1, "")
	if err != nil {
		return nil, err
	}
	var all []Left
	for _, one := range found {
		l := Left{}
		if err := read(ctx, store, one.Key, &l); err != nil {
			return nil, err
		}
		l.Since = one.Stored
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Left) int { return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.UID, b.UID)) })
	return all, nil
}

// read reads a record.
func read(ctx context.Context, store blob.Store, key blob.Key, into any) error {
	in, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewDecoder(in).Decode(into), in.Close()); err != nil {
		return fmt.Errorf("cannot read blob %s: %w", key, err)
	}
	return nil
}

// Stock tells what the store has.
type Stock struct {
	// UIDs are those of the Workspaces that it has blobs of, Left all records of those that are gone.
	UIDs []string
	Left []Left
	// Contents are the namespaces whose templates it has contents of.
	Contents []string
}

// Inventory returns what the store has.
func Inventory(ctx context.Context, store blob.Store) (Stock, error) {
	names, err := store.Workspaces(ctx)
	if err != nil {
		return Stock{}, err
	}
	var s Stock
	for _, name := range names {
		namespace, content := contents.Namespace(name)
		switch {
		case content:
			s.Contents = append(s.Contents, namespace)
		case strings.HasPrefix(name, leftPrefix):
			some, err := leftBelow(ctx, store, name)
			if err != nil {
				return Stock{}, err
			}
			s.Left = append(s.Left, some...)
		case name != blob.Own:
			s.UIDs = append(s.UIDs, name)
		}
	}
	return s, nil
}

// Find describes the states of a Workspace that was deleted without a record, by its blobs.
func Find(ctx context.Context, store blob.Store, uid string) (Left, error) {
	l := Left{UID: uid}
	newest, number, err := Newest(ctx, store, uid)
	if err != nil {
		return l, err
	}
	l.Archive, l.Generation = newest, number
	fences, err := store.Fences(ctx, uid)
	if err != nil {
		return l, err
	}
	for _, fence := range slices.Backward(fences) {
		var m Run
		err := read(ctx, store, blob.Key{Workspace: uid, Fence: fence, Name: RunName}, &m)
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err == nil {
			l.Name = m.Namespace + "/" + m.Workspace
		}
		return l, err
	}
	return l, nil
}
