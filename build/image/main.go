// Command image builds Orcon's binaries and wraps each in a container image:
// from scratch, the same bytes from the same source, without a Docker engine. It is called as
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

const usage = `Builds Orcon's binaries and images.

  build/builder build NAME...      compiles cmd/NAME to bin/NAME (static, for linux)
  build/builder publish NAME...    builds, makes the image, and writes or pushes it;
                                   of --all those that have one
  build/builder busybox            makes the demo's image busybox:stable from this
                                   machine's static busybox, for clusters without a registry
  build/builder debian NAME --packages A,B
                                   makes an image of Debian packages, without an engine
  build/builder installer NAME --manifests FOLDER
                                   builds orcon, and makes an image that installs the
                                   folder when it is run (deployment/examples/installer)

Instead of NAME, --all means every folder of cmd/: %s

  --registry R   publish, installer: push to R/NAME:TAG, with the credentials of 'docker login';
                 without it the image goes to a tarball
  --tag T        the image's tag (default dev)
  --tarball F    where the tarball goes (default dist/NAME.tar)
  --all          every binary
  --packages L   debian: the packages, separated by commas; what they depend on comes along
  --manifests F  installer: the folder; a relative path begins at the repository's top

Examples:
  build/builder build relations-controller
  build/builder publish relations-controller
  ctr -n k8s.io images import dist/relations-controller.tar    # localhost/orcon/relations-controller:dev
  build/builder publish --all --registry registry.example.org/orcon --tag v0.1.0
  GOARCH=arm64 build/builder publish relation-agent --tarball /tmp/agent-arm64.tar
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
	manifests              string
	packages               []string
	// all is set where nobody named them.
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
	switch command := args[0]; command {
	case "build", "publish":
		o, err := parse(src, args[1:])
		if err != nil {
			return err
		}
		return each(ctx, src, command, o, out)
	case "busybox":
		o, err := parse(src, append(args[1:], "busybox"))
		if err != nil {
			return err
		}
		return packBusybox(ctx, o, out)
	case "debian", "installer":
		o, err := parse(src, args[1:])
		if err != nil {
			return err
		}
		if command == "debian" {
			return packDebian(ctx, o, out)
		}
		return packInstaller(ctx, src, o, out)
	default:
		return fmt.Errorf("no command %q; the commands are build, publish, busybox, debian and installer: %w", command, errUsage)
	}
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// parse reads flags and names in any order, as the prototype's users type them.
func parse(src Source, args []string) (order, error) {
	var o order
	var all bool
	flags := flag.NewFlagSet("builder", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.registry, "registry", "", "")
	flags.StringVar(&o.tag, "tag", "dev", "")
	flags.StringVar(&o.tarball, "tarball", "", "")
	flags.StringVar(&o.manifests, "manifests", "", "")
	flags.BoolVar(&all, "all", false, "")
	flags.Func("packages", "", func(list string) error {
		o.packages = append(o.packages, strings.Split(list, ",")...)
		return nil
	})
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return order{}, fmt.Errorf("%w: %w", err, errUsage)
		}
		args = flags.Args()
		if len(args) > 0 {
			o.names, args = append(o.names, args[0]), args[1:]
		}
	}
	return o.complete(src, all)
}

// complete replaces --all by names and refuses what contradicts itself.
func (o order) complete(src Source, all bool) (order, error) {
	if all {
		names, err := src.Names()
		if err != nil {
			return order{}, err
		}
		o.names, o.all = names, true
	}
	switch {
	case len(o.names) == 0:
		return order{}, fmt.Errorf("name a binary, or --all: %w", errUsage)
	case o.tarball != "" && len(o.names) > 1:
		return order{}, fmt.Errorf("--tarball holds one image and %d were named: %w", len(o.names), errUsage)
	case o.tarball != "" && o.registry != "":
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
