package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// Settings are those of a bucket.
type Settings struct {
	// Endpoint is a URL: https://s3.example.org.
	Endpoint string
	Bucket   string
	// Prefix is put before each key; "" for nothing.
	Prefix string
	// Region is "" where the server has none.
	Region string
	// AccessKey and SecretKey are the credentials.
	AccessKey, SecretKey string
	// Transport is nil for the default one.
	Transport http.RoundTripper
}

// Store is a bucket of blobs.
type Store struct {
	client         *minio.Client
	bucket, prefix string
	writing        writes
}

// Open returns the store of a bucket, which must be there.
func Open(ctx context.Context, s Settings) (*Store, error) {
	at, err := url.Parse(s.Endpoint)
	if err != nil || at.Host == "" || (at.Scheme != "https" && at.Scheme != "http") || strings.Trim(at.Path, "/") != "" {
		return nil, fmt.Errorf("cannot use endpoint %q: write a URL without a path, such as https://s3.example.org", s.Endpoint)
	}
	client, err := minio.New(at.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""),
		Secure: at.Scheme == "https", Region: s.Region, Transport: s.Transport,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot use endpoint %q: %w", s.Endpoint, err)
	}
	there, err := client.BucketExists(ctx, s.Bucket)
	if err != nil {
		return nil, fmt.Errorf("cannot open bucket %q at %s: %w", s.Bucket, s.Endpoint, err)
	}
	if !there {
		return nil, fmt.Errorf("cannot open bucket %q at %s: it is not there: create it", s.Bucket, s.Endpoint)
	}
	prefix := strings.Trim(s.Prefix, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &Store{client: client, bucket: s.Bucket, prefix: prefix}, nil
}

// Put implements blob.Store: the server shows an object when it has all of it.
func (s *Store) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	defer s.writing.begin(key)()
	stored, err := s.Get(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return s.put(ctx, key, content)
	}
	if err != nil {
		return fmt.Errorf("cannot compare blob %s with what is stored: %w", key, err)
	}
	defer stored.Close() //nolint:errcheck // it is only read
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("cannot compare blob %s with what is stored: %w", key, err)
	}
	return blob.Settle(key, stored, content)
}

func (s *Store) put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err == nil {
		// The client would repeat what it can seek in, also where the content itself cannot be read: callers repeat.
		once := struct{ io.Reader }{content}
		_, err = s.client.PutObject(ctx, s.bucket, s.prefix+key.String(), once, size, minio.PutObjectOptions{})
	}
	if err != nil {
		return fmt.Errorf("cannot store blob %s: %w", key, err)
	}
	return nil
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	object, err := s.client.GetObject(ctx, s.bucket, s.prefix+key.String(), minio.GetObjectOptions{})
	if err == nil {
		if _, err = object.Stat(); err != nil {
			_ = object.Close() // nothing was opened
		}
	}
	if err == nil {
		return object, nil
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		err = blob.ErrNotFound
	}
	return nil, fmt.Errorf("cannot open blob %s: %w", key, err)
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, workspace string) ([]blob.Info, error) {
	prefix := s.prefix
	if workspace != "" {
		if err := (blob.Key{Workspace: workspace, Fence: 1, Name: "x"}).Check(); err != nil {
			return nil, err
		}
		prefix += workspace + "/"
	}
	return s.list(ctx, prefix)
}

// list returns the blobs whose keys begin with a prefix, in order.
func (s *Store) list(ctx context.Context, prefix string) ([]blob.Info, error) {
	ctx, end := context.WithCancel(ctx)
	defer end() // of the client's listing too
	var found []blob.Info
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return nil, fmt.Errorf("cannot list blobs: %w", object.Err)
		}
		key, err := blob.ParseKey(strings.TrimPrefix(object.Key, s.prefix))
		if err != nil {
			continue // no object of this store
		}
		found = append(found, blob.Info{Key: key, Size: object.Size, Stored: object.LastModified})
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot list blobs: %w", err)
	}
	slices.SortFunc(found, func(a, b blob.Info) int { return blob.Compare(a.Key, b.Key) })
	return found, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	if err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key.String(), minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("cannot delete blob %s: %w", key, err)
	}
	return nil
}

// Refresh implements blob.Store: a server copies an object onto itself only where its metadata are replaced.
func (s *Store) Refresh(ctx context.Context, key blob.Key) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	defer s.writing.begin(key)()
	name := s.prefix + key.String()
	_, err := s.client.CopyObject(ctx, minio.CopyDestOptions{
		Bucket: s.bucket, Object: name, ReplaceMetadata: true,
		UserMetadata: map[string]string{"refreshed": time.Now().UTC().Format(time.RFC3339)},
	}, minio.CopySrcOptions{Bucket: s.bucket, Object: name})
	if err != nil && minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		err = blob.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot refresh blob %s: %w", key, err)
	}
	return nil
}
