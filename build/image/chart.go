package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// chart packs the Helm chart, which build/chart writes.
func (r *release) chart(ctx context.Context) error {
	r.say("generating the Helm chart from deployment/")
	version := strings.TrimPrefix(r.src.Stamp, "v")
	content, err := packChart(ctx, r.src, version, r.o, r.out)
	if err != nil {
		return err
	}
	return r.write("orcon-"+version+".tgz", content)
}

// packChart returns the chart as the archive that Helm reads.
func packChart(ctx context.Context, src Source, version string, o order, out io.Writer) ([]byte, error) {
	folder, err := os.MkdirTemp("", "orcon-chart-*")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of the temporary folder
	arguments := slices.Concat([]string{"run"}, compileFlags(), []string{"./build/chart",
		"-version", version, "-tag", o.tag, "-registry", cmp.Or(o.registry, local), folder})
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = src.Root, out, out
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as everything that is compiled: from one cache
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("cannot generate the chart: %w", err)
	}
	entries, err := filesIn(folder, "orcon")
	if err != nil {
		return nil, fmt.Errorf("cannot pack the chart: %w", err)
	}
	return tarGzip(entries)
}

// saveChart writes the chart of the work tree, or of a tag.
func saveChart(ctx context.Context, src Source, o order, out io.Writer) error {
	version := "0.0.0-" + o.tag
	if parts := versions.FindStringSubmatch(o.tag); parts != nil {
		version = parts[1] + parts[2]
	}
	content, err := packChart(ctx, src, version, o, out)
	if err != nil {
		return err
	}
	target := cmp.Or(o.tarball, filepath.Join(src.Root, "dist", "orcon-chart.tgz"))
	if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, 0o644)); err != nil {
		return fmt.Errorf("cannot write the chart: %w", err)
	}
	fmt.Fprintf(out, "wrote %s (%s)\n", target, size(target))
	return nil
}
