package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Pack writes a tar archive that Unpack reads as the same tree. Equal trees give equal bytes.
func Pack(out io.Writer, tree *bundle.Tree) error {
	entries := tar.NewWriter(out)
	links := tree.Links()
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if err := entries.WriteHeader(linked(name, links[name])); err != nil {
			return fmt.Errorf("cannot pack %s: %w", name, err)
		}
	}
	for _, name := range tree.Paths() {
		f, _ := tree.File(name)
		head := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(f.Content)), Mode: 0o644}
		if f.Executable {
			head.Mode = 0o755
		}
		if err := entries.WriteHeader(&head); err != nil {
			return fmt.Errorf("cannot pack %s: %w", name, err)
		}
		if _, err := entries.Write(f.Content); err != nil {
			return fmt.Errorf("cannot pack %s: %w", name, err)
		}
	}
	if err := entries.Close(); err != nil {
		return fmt.Errorf("cannot pack the archive: %w", err)
	}
	return nil
}

// linked returns the entry of a link, which leads nowhere.
func linked(name, link string) *tar.Header {
	head := tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: "/"}
	switch link {
	case bundle.HardLink:
		head.Typeflag = tar.TypeLink
	case bundle.Submodule:
		head.PAXRecords = map[string]string{linkKey: bundle.Submodule}
	}
	return &head
}
