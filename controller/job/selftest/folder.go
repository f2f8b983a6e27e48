package selftest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Folder returns the root folder of an image for the program, packed by tar: the user of runs is in passwd, and the program
// is mounted.
func Folder() ([]byte, error) {
	var out bytes.Buffer
	text := fmt.Sprintf("orcon:x:%d:%d::%s:/sbin/nologin\n", contract.User, contract.User, contract.Home)
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: "etc/passwd", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("cannot make the image of the test: %w", err)
	}
	return out.Bytes(), nil
}
