package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// conformanceName names the image that proves the contract of runs, and its program.
const conformanceName = "conformance"

// packConformance makes the image by which an executor of runs is tested.
func packConformance(ctx context.Context, src Source, o order, out io.Writer) error {
	folder := filepath.Join("test", conformanceName, "job")
	program, err := os.CreateTemp("", conformanceName+"-")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", conformanceName, err)
	}
	_ = program.Close()             // it is empty
	defer os.Remove(program.Name()) //nolint:errcheck // it is in the image
	if err := src.link(ctx, folder, program.Name(), out); err != nil {
		return err
	}
	image, err := pack(src.arch(), v1.Config{User: nonRoot, Labels: labels(conformanceName, src.Version(ctx))}, []entry{
		{name: conformanceName, file: program.Name(), mode: 0o755},
		{name: "work/content", file: filepath.Join(src.Root, folder, "content"), mode: 0o644},
	})
	if err != nil {
		return fmt.Errorf("cannot make the image of %s: %w", conformanceName, err)
	}
	return ship(ctx, src, image, conformanceName, o, out)
}
