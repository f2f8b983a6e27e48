package sealed

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// usedKey returns the key of the note about a key that blobs are encrypted to.
func usedKey(name string) blob.Key { return blob.Key{Workspace: blob.Own, Fence: 1, Name: name} }

// note notes in the store that blobs are encrypted to a key, so that one which is lost has a name.
func (s *Store) note(ctx context.Context, name string) error {
	if _, known := s.used.Load(name); known {
		return nil
	}
	if err := s.Store.Put(ctx, usedKey(name), strings.NewReader("")); err != nil {
		return fmt.Errorf("cannot note that key %s is used: %w", name, err)
	}
	s.used.Store(name, true)
	return nil
}

// Used returns the names of all keys that blobs of a store were ever encrypted to: public keys.
func Used(ctx context.Context, store blob.Store) ([]string, error) {
	found, err := store.Below(ctx, blob.Own, 1, "age1")
	if err != nil {
		return nil, fmt.Errorf("cannot list the keys that were used: %w", err)
	}
	var names []string
	for _, one := range found {
		names = append(names, one.Key.Name)
	}
	return names, nil
}

// missing describes the keys that were used and are not there; "" if there are none, or if they cannot be listed.
func (s *Store) missing(ctx context.Context, k keys) string {
	used, err := Used(ctx, s.Store)
	gone := slices.DeleteFunc(used, func(name string) bool { return slices.Contains(k.names, name) })
	if err != nil || len(gone) == 0 {
		return ""
	}
	return ": keys that were used and are missing: " + strings.Join(gone, ", ")
}
