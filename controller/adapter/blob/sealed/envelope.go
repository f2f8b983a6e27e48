package sealed

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// Recipient returns the public key to which others encrypt what only the keys of the store decrypt.
func (s *Store) Recipient(ctx context.Context) (string, error) {
	k, err := readKeys(ctx, s.Keys)
	if err != nil {
		return "", err
	}
	return k.public, nil
}

// Unseal returns a content that was encrypted to one of the keys. It returns blob.ErrLocked if no key opens it.
func (s *Store) Unseal(ctx context.Context, content io.Reader) (io.Reader, error) {
	in := bufio.NewReader(content)
	if begin, err := in.Peek(len(magic)); string(begin) != magic {
		return nil, errors.Join(errors.New("it is not encrypted"), err)
	}
	return s.open(ctx, in)
}
