package selftest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Folder returns the root folder of an image for the program, packed by tar: its content is in the working directory, and
// the program is mounted.
func Folder() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	work := strings.TrimPrefix(contract.Work, "/") + "/"
	// Without an entry of its own, some storage drivers make the folder unreadable.
	err := w.WriteHeader(&tar.Header{Name: work, Mode: 0o755, Typeflag: tar.TypeDir})
	if err == nil {
		err = w.WriteHeader(&tar.Header{
			Name: work + contentName, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg,
		})
	}
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("cannot make the image of the test: %w", err)
	}
	return out.Bytes(), nil
}
