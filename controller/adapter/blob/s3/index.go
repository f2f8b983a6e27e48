package s3

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// Workspaces implements blob.Index.
func (s *Store) Workspaces(ctx context.Context) ([]string, error) {
	names, err := s.folders(ctx, s.prefix)
	if err != nil {
		return nil, fmt.Errorf("cannot list the workspaces: %w", err)
	}
	foreign := func(name string) bool {
		_, err := blob.Folder(name, 1)
		return err != nil
	}
	names = slices.DeleteFunc(names, foreign)
	slices.Sort(names)
	return names, nil
}

// Fences implements blob.Index.
func (s *Store) Fences(ctx context.Context, workspace string) ([]int64, error) {
	_, err := blob.Folder(workspace, 1)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list the fences of %s: %w", workspace, err)
	}
	names, err := s.folders(ctx, s.prefix+workspace+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the fences of %s: %w", workspace, err)
	}
	var fences []int64
	for _, name := range names {
		if fence, err := blob.ParseFolder(name); err == nil {
			fences = append(fences, fence)
		}
	}
	slices.Sort(fences)
	return fences, nil
}

// folders returns the names of the folders right below a prefix.
func (s *Store) folders(ctx context.Context, prefix string) (names []string, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end() // of the client's listing too
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if object.Err != nil {
			return nil, object.Err
		}
		if strings.HasSuffix(object.Key, "/") {
			names = append(names, path.Base(object.Key))
		}
	}
	return names, ctx.Err()
}

// Below implements blob.Index.
func (s *Store) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	folder, err := blob.Folder(workspace, fence)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list fence %d of %s: %w", fence, workspace, err)
	}
	return s.list(ctx, s.prefix+folder+"/"+prefix)
}
