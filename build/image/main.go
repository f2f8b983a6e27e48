// Command image builds Orcon's binaries, wraps each in a container image and makes releases:
// the same bytes from the same source, without a Docker engine. It is called as
// build/builder.
//
// What must not come in: anything that a cluster is needed for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

const usage = `Builds Orcon's binaries, images and releases.

  build/builder build NAME...      compiles cmd/NAME to bin/NAME (static, for linux)
  build/builder publish NAME...    builds, makes the image, and writes or pushes it;
                                   of --all those that have one
  build/builder busybox            makes the demo's image busybox:stable from this
                                   machine's static busybox, for clusters without a registry
  build/builder conformance        makes the image that proves what an executor of runs promises
  build/builder debian NAME --packages A,B
                                   makes an image of Debian packages, without an engine
  build/builder opentofu NAME      makes an image of OpenTofu, as build/opentofu pins it, and
                                   this machine's static busybox
  build/builder installer NAME --manifests FOLDER
                                   builds orcon, and makes an image that installs the
                                   folder when it is run (deployment/examples/installer)

  build/builder chart              generates the Helm chart: dist/orcon-chart.tgz
  build/builder release --version V
                                   builds what is published of a version into dist/release/:
                                   images for linux/amd64 and linux/arm64 (OCI layouts), orcon
                                   for six platforms, bills of materials (CycloneDX), the Helm
                                   chart, the plugin manifest for krew, their provenance
                                   (SLSA, unsigned), SHA256SUMS. NAME... limits it to some
                                   binaries

Instead of NAME, --all means every folder of cmd/: %s

  --registry R   publish, installer: push to R/NAME:TAG, with the credentials of 'docker login';
                 without it the image goes to a tarball
                 chart, release: the default registry of the chart and the images' names
  --tag T        the image's tag (default dev)
  --tarball F    where the tarball goes (default dist/NAME.tar)
  --all          every binary
  --packages L   debian: the packages, separated by commas; what they depend on comes along
  --content F    debian, opentofu: a folder that is /work of the image, the content of a template
                 of stateful runs; a relative path begins at the repository's top
  --manifests F  installer: the folder; a relative path begins at the repository's top
  --version V    release: MAJOR.MINOR.PATCH-rc.NUMBER
  --platforms L  release: OS/ARCHITECTURE, separated by commas (default
                 ` + platforms + `)
  --push         release: push the images to the registry too
  --url U        release: where the plugin's archives will be downloaded from
  --folder F     release: the folder, replaced as a whole (default dist/release)

Examples:
  build/builder build relations-controller
  build/builder publish relations-controller
  ctr -n k8s.io images import dist/relations-controller.tar    # localhost/orcon/relations-controller:dev
  build/builder publish --all --registry registry.example.org/orcon --tag v0.1.0
  GOARCH=arm64 build/builder publish relation-agent --tarball /tmp/agent-arm64.tar
  build/builder opentofu network --content deployment/examples/jobs/opentofu
  build/builder release --version v0.1.0-rc.1 --registry registry.example.org/orcon
`

// errUsage is an error of the person who typed the command.
var errUsage = errors.New("see build/builder --help")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.Getwd()
	if err == nil {
		err = run(ctx, Source{Root: root, Arch: os.Getenv("ORCON_GOARCH")}, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "builder:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// order is one command line, understood.
type order struct {
	names                  []string
	registry, tag, tarball string
	// content is the folder that goes into an image.
	content  string
	packages []string
	// version, platforms, url, folder and push are for a release.
	version, platforms, url, folder string
	push                            bool
	// all is set by --all.
	all bool
}

// run carries out one command line against the source tree and reports to out.
func run(ctx context.Context, src Source, args []string, out io.Writer) error {
	if len(args) == 0 || slices.ContainsFunc(args, isHelp) {
		names, err := src.Names()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, usage, strings.Join(names, " "))
		return err
	}
	return perform(ctx, src, args[0], args[1:], out)
}

// perform runs one of the commands.
func perform(ctx context.Context, src Source, command string, args []string, out io.Writer) error {
	parsed := parse
	switch command {
	case "build", "publish", "debian", "opentofu", "installer":
	case "busybox", "conformance", "chart":
		args = append(args, command)
	case "release":
		parsed = parseRelease
	default:
		return fmt.Errorf("no command %q; the commands are build, publish, busybox, conformance, debian, opentofu, installer, "+
			"chart and release: %w", command, errUsage)
	}
	o, err := parsed(src, args)
	if err != nil {
		return err
	}
	switch command {
	case "busybox":
		return packBusybox(ctx, o, out)
	case "conformance":
		return packConformance(ctx, src, o, out)
	case "debian":
		return packDebian(ctx, o, out)
	case "opentofu":
		return packOpenTofu(ctx, src, o, out)
	case "installer":
		return packInstaller(ctx, src, o, out)
	case "chart":
		return saveChart(ctx, src, o, out)
	case "release":
		return makeRelease(ctx, src, o, out)
	default:
		return each(ctx, src, command, o, out)
	}
}

// parseRelease reads the command line of a release, which is of all binaries unless some
// are named.
func parseRelease(src Source, args []string) (order, error) {
	o, err := read(args)
	if err != nil {
		return order{}, err
	}
	if o.push && o.registry == "" {
		return order{}, fmt.Errorf("--push needs --registry: %w", errUsage)
	}
	o.all = o.all || len(o.names) == 0
	return o.complete(src)
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// parse reads a command line that names binaries.
func parse(src Source, args []string) (order, error) {
	o, err := read(args)
	if err != nil {
		return order{}, err
	}
	return o.complete(src)
}

// read reads flags and names in any order, as the prototype's users type them.
func read(args []string) (order, error) {
	var o order
	flags := o.flags()
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return order{}, fmt.Errorf("%w: %w", err, errUsage)
		}
		args = flags.Args()
		if len(args) > 0 {
			o.names, args = append(o.names, args[0]), args[1:]
		}
	}
	return o, nil
}

// flags returns the flags of all commands, which are written into the order.
func (o *order) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("builder", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.registry, "registry", "", "")
	flags.StringVar(&o.tag, "tag", "dev", "")
	flags.StringVar(&o.tarball, "tarball", "", "")
	flags.StringVar(&o.content, "manifests", "", "")
	flags.StringVar(&o.version, "version", "", "")
	flags.StringVar(&o.platforms, "platforms", "", "")
	flags.StringVar(&o.content, "content", "", "")
	flags.StringVar(&o.url, "url", "", "")
	flags.StringVar(&o.folder, "folder", "", "")
	flags.BoolVar(&o.push, "push", false, "")
	flags.BoolVar(&o.all, "all", false, "")
	flags.Func("packages", "", func(list string) error {
		o.packages = append(o.packages, strings.Split(list, ",")...)
		return nil
	})
	return flags
}

// complete replaces --all by names and refuses what contradicts itself.
func (o order) complete(src Source) (order, error) {
	o.registry = strings.TrimRight(o.registry, "/")
	if o.all {
		names, err := src.Names()
		if err != nil {
			return order{}, err
		}
		o.names = names
	}
	switch {
	case len(o.names) == 0:
		return order{}, fmt.Errorf("name a binary, or --all: %w", errUsage)
	case o.tarball != "" && len(o.names) > 1:
		return order{}, fmt.Errorf("--tarball holds one image and %d were named: %w", len(o.names), errUsage)
	case o.tarball != "" && o.registry != "" && !slices.Contains(o.names, "chart"):
		return order{}, fmt.Errorf("--tarball and --registry exclude each other: %w", errUsage)
	}
	return o, nil
}

// each carries out the command for every name and stops at the first failure.
func each(ctx context.Context, src Source, command string, o order, out io.Writer) error {
	for _, name := range o.names {
		fmt.Fprintf(out, "building %s for linux/%s\n", name, src.arch())
		binary, err := src.Build(ctx, name, out)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "built bin/%s (%s)\n", name, size(binary))
		if command == "build" || o.all && Imageless(name) != "" {
			continue
		}
		if err := publish(ctx, src, name, binary, o, out); err != nil {
			return err
		}
	}
	return nil
}
