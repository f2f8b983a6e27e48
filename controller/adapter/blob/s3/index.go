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

// Fences implements blob.Index.
func (s *Store) Fences(ctx context.Context, workspace string) ([]int64, error) {
	_, err := blob.Folder(workspace, 1)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list the fences of %s: %w", workspace, err)
	}
	ctx, end := context.WithCancel(ctx)
	defer end() // of the client's listing too
	var fences []int64
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + workspace + "/"}) {
		if object.Err != nil {
			return nil, fmt.Errorf("cannot list the fences of %s: %w", workspace, object.Err)
		}
		if fence, err := blob.ParseFolder(path.Base(object.Key)); err == nil && strings.HasSuffix(object.Key, "/") {
			fences = append(fences, fence)
		}
	}
	slices.Sort(fences)
	return fences, ctx.Err()
}

// Below implements blob.Index.
func (s *Store) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	folder, err := blob.Folder(workspace, fence)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("cannot list fence %d of %s: %w", fence, workspace, err)
	}
	return s.list(ctx, s.prefix+folder+"/"+prefix)
}
