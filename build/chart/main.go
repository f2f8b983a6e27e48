// Command chart writes Orcon's Helm chart into a folder. The chart has no source of its own:
// its templates are the kustomize manifests of deployment/, rendered, with expressions in
// the few places that values change. It is called by build/builder chart.
//
// What must not come in: a manifest, or a name of one that is not a place to change.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	err := run(context.Background(), os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// run writes the chart that the arguments describe.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("go run ./build/chart [FLAGS] FOLDER", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.version, "version", "0.0.0-dev", "the chart's version, without a leading v")
	flags.StringVar(&o.tag, "tag", "dev", "the default tag of the images")
	flags.StringVar(&o.registry, "registry", localRegistry, "the default registry of the images, with its path")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("cannot read the arguments: %w", err)
	}
	if flags.NArg() != 1 {
		return errors.New("name one folder for the chart")
	}
	files, err := chart(ctx, o)
	if err != nil {
		return err
	}
	for name, text := range files {
		file := filepath.Join(flags.Arg(0), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return fmt.Errorf("cannot make the chart's folder: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("cannot write the chart: %w", err)
		}
	}
	return nil
}
