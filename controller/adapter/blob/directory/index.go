package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// Workspaces implements blob.Index.
func (s *Store) Workspaces(ctx context.Context) ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list the workspaces: %w", err)
	}
	var found []string
	for _, one := range entries {
		if _, err := blob.Folder(one.Name(), 1); err == nil && one.IsDir() {
			found = append(found, one.Name())
		}
	}
	return found, nil
}

// Fences implements blob.Index.
func (s *Store) Fences(ctx context.Context, workspace string) ([]int64, error) {
	_, err := blob.Folder(workspace, 1)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list the fences of %s: %w", workspace, err)
	}
	entries, err := fs.ReadDir(s.root.FS(), workspace)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list the fences of %s: %w", workspace, err)
	}
	var fences []int64
	for _, one := range entries {
		if fence, err := blob.ParseFolder(one.Name()); err == nil {
			fences = append(fences, fence)
		}
	}
	return fences, nil
}

// Below implements blob.Index.
func (s *Store) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	folder, err := blob.Folder(workspace, fence)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list fence %d of %s: %w", fence, workspace, err)
	}
	entries, err := fs.ReadDir(s.root.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list fence %d of %s: %w", fence, workspace, err)
	}
	var found []blob.Info
	for _, one := range entries {
		key := blob.Key{Workspace: workspace, Fence: fence, Name: one.Name()}
		if !strings.HasPrefix(key.Name, prefix) || key.Check() != nil {
			continue
		}
		info, err := one.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			return nil, fmt.Errorf("cannot list fence %d of %s: %w", fence, workspace, err)
		default:
			found = append(found, blob.Info{Key: key, Size: info.Size(), Stored: info.ModTime()})
		}
	}
	return found, nil
}
