package archive

import (
	"archive/tar"
	"bytes"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Pack returns a tar archive that Unpack reads as the same tree. Equal trees give equal
// bytes.
func Pack(tree *bundle.Tree) ([]byte, error) {
	var out bytes.Buffer
	entries := tar.NewWriter(&out)
	for _, name := range tree.Paths() {
		f, _ := tree.File(name)
		head := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(f.Content)), Mode: 0o644}
		if f.Executable {
			head.Mode = 0o755
		}
		if err := entries.WriteHeader(&head); err != nil {
			return nil, fmt.Errorf("cannot pack %s: %w", name, err)
		}
		if _, err := entries.Write(f.Content); err != nil {
			return nil, fmt.Errorf("cannot pack %s: %w", name, err)
		}
	}
	if err := entries.Close(); err != nil {
		return nil, fmt.Errorf("cannot pack the archive: %w", err)
	}
	return out.Bytes(), nil
}
