package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// checksums is the file that a release ends with: a folder without it is none.
const checksums = "SHA256SUMS"

// versions are the texts that name a release.
var versions = regexp.MustCompile(`^v?((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))(-rc\.?\d+)?$`)

// candidate returns a version with its leading v. No other release than a candidate can be
// made until every rule of docs/rules/TRUST.md holds.
func candidate(version string) (string, error) {
	parts := versions.FindStringSubmatch(version)
	switch {
	case parts == nil:
		return "", fmt.Errorf("cannot release version %q: a version is MAJOR.MINOR.PATCH-rc.NUMBER, such as v0.1.0-rc.1: %w", version, errUsage)
	case parts[2] == "":
		return "", fmt.Errorf("cannot release version %q: the rules about trust that docs/rules/TRUST.md marks (next) do not hold yet, "+
			"so every version is a release candidate: v%s-rc.1: %w", version, parts[1], errUsage)
	}
	return "v" + parts[1] + parts[2], nil
}

// release is one release while it is made.
type release struct {
	src       Source
	o         order
	platforms []platform
	// into is the folder that becomes the release when all is there; work is for temporary files.
	into, work string
	out        io.Writer
	began      time.Time
	step       int
}

// makeRelease builds all artefacts of a version into a folder: equal sources give equal bytes.
func makeRelease(ctx context.Context, src Source, o order, out io.Writer) error {
	version, err := candidate(o.version)
	if err != nil {
		return err
	}
	r := release{src: src, o: o, out: out, began: time.Now()}
	r.src.Stamp, r.src.Registry, r.o.tag = version, o.registry, version
	if r.platforms, err = parsePlatforms(cmp.Or(o.platforms, platforms)); err != nil {
		return err
	}
	target := cmp.Or(o.folder, filepath.Join(src.Root, "dist", "release"))
	if err := replaceable(target); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("cannot make the release's folder: %w", err)
	}
	r.work, err = os.MkdirTemp(filepath.Dir(target), ".release-*")
	if err != nil {
		return fmt.Errorf("cannot make the release's folder: %w", err)
	}
	defer os.RemoveAll(r.work) //nolint:errcheck // of the temporary folder
	r.into = filepath.Join(r.work, "release")
	if err := os.Mkdir(r.into, 0o755); err != nil {
		return fmt.Errorf("cannot make the release's folder: %w", err)
	}
	if err := r.all(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(target), os.Rename(r.into, target)); err != nil {
		return fmt.Errorf("cannot put the release in its place: %w", err)
	}
	fmt.Fprintf(out, "release %s is in %s after %s\n", version, target, time.Since(r.began).Round(time.Second))
	if o.registry == "" {
		fmt.Fprintf(out, "note: no --registry is given, so that orcon and the chart of this release install images from %s, which only nodes "+
			"have that imported them\n", local)
	}
	return nil
}

// replaceable refuses a folder whose files are not those of a release.
func replaceable(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the release's folder: %w", err)
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == checksums }) {
		return fmt.Errorf("cannot replace %s: its files are not a release's (it has no %s): name an empty folder", folder, checksums)
	}
	return nil
}

// all makes the artefacts. A binary that has no image is one that people run on machines of
// their own.
func (r *release) all(ctx context.Context) error {
	if err := r.chart(ctx); err != nil {
		return err
	}
	for _, name := range r.o.names {
		build := r.image
		if Imageless(name) != "" {
			build = r.archives
		}
		if err := build(ctx, name); err != nil {
			return err
		}
	}
	if err := r.provenance(ctx); err != nil {
		return err
	}
	return r.sum()
}

// archives packs a command line for every platform, and writes the plugin's manifest.
func (r *release) archives(ctx context.Context, name string) error {
	var all []archived
	for _, p := range r.platforms {
		a, err := r.archive(ctx, name, p)
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	return r.write(name+".yaml", []byte(plugin(r.src.Stamp, r.o.url, all)))
}

// say reports a step, with the time since the beginning.
func (r *release) say(format string, args ...any) {
	r.step++
	elapsed := time.Since(r.began).Round(time.Second)
	minutes, seconds := int(elapsed.Minutes()), int(elapsed.Seconds())%60
	fmt.Fprintf(r.out, "[%02d:%02d] %d/%d %s\n", minutes, seconds, r.step, r.steps(), fmt.Sprintf(format, args...))
}

// steps is how many steps are reported: the chart, and each binary of each platform.
func (r *release) steps() int {
	n := 1
	for _, name := range r.o.names {
		if Imageless(name) != "" {
			n += len(r.platforms)
		} else {
			n += len(r.linux())
		}
	}
	return n
}

// linux returns the platforms that have images.
func (r *release) linux() []platform {
	return slices.DeleteFunc(slices.Clone(r.platforms), func(p platform) bool { return p.os != "linux" })
}

// name is an artefact's file name.
func (r *release) name(parts ...string) string {
	return strings.Join(append([]string{parts[0], strings.TrimPrefix(r.src.Stamp, "v")}, parts[1:]...), "_")
}

// write writes one file of the release.
func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.into, name), content, 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

// compile builds a binary for a platform, and writes its bill of materials.
func (r *release) compile(ctx context.Context, name string, p platform) (string, error) {
	r.say("building %s for %s", name, p)
	src := r.src
	src.OS, src.Arch = p.os, p.arch
	file := filepath.Join(r.work, name+"_"+p.os+"_"+p.arch)
	if err := src.compile(ctx, name, file, r.out); err != nil {
		return "", err
	}
	bill, err := bom(file, name, r.src.Stamp)
	if err != nil {
		return "", err
	}
	return file, r.write(r.name(name, p.os, p.arch)+".cdx.json", bill)
}

// archive packs a command line for one platform.
func (r *release) archive(ctx context.Context, name string, p platform) (archived, error) {
	file, err := r.compile(ctx, name, p)
	if err != nil {
		return archived{}, err
	}
	program := name
	pack, suffix := tarGzip, ".tar.gz"
	if p.os == "windows" {
		program += ".exe"
		pack, suffix = zipped, ".zip"
	}
	content, err := pack([]entry{
		{name: program, file: file, mode: 0o755},
		{name: "LICENSE", file: filepath.Join(r.src.Root, "LICENSE"), mode: 0o644},
	})
	if err != nil {
		return archived{}, err
	}
	a := archived{platform: p, file: r.name(name, p.os, p.arch) + suffix, program: program, sum: sha256.Sum256(content)}
	return a, r.write(a.file, content)
}

// sum writes the checksums of all files of the release.
func (r *release) sum() error {
	entries, err := filesIn(r.into, "")
	if err != nil {
		return fmt.Errorf("cannot compute the checksums: %w", err)
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(e.file)
		if err != nil {
			return fmt.Errorf("cannot compute the checksums: %w", err)
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), e.name)
	}
	return r.write(checksums, []byte(b.String()))
}
