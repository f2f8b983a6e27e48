// Mutants measures the unit tests of rooms: it changes a room's code in small ways, one at a
// time, and counts the changes that the room's own tests notice. scripts/mutants.sh runs it.
//
//	mutants [-seed 1] [-n 200] [-time 5m] ROOM...
//
// What must not come in: judgements of code. The ratio is printed, and nothing fails by it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, ".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags of a command line.
type options struct {
	seed uint64
	n    int
	time time.Duration
}

// run carries out one command line on the module in a folder. Flags may stand after rooms.
func run(ctx context.Context, root string, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.Uint64Var(&o.seed, "seed", 1, "choose the mutants by this `number`")
	flags.IntVar(&o.n, "n", 200, "try this `number` of mutants of each room")
	flags.DurationVar(&o.time, "time", 5*time.Minute, "stop after this `time` for each room")
	var rooms []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			rooms, args = append(rooms, path.Clean(args[0])), args[1:]
		}
	}
	if len(rooms) == 0 {
		return errors.New("no room is named: add a folder, for example controller/bundle")
	}
	for _, room := range rooms {
		if err := measure(ctx, root, room, o, out); err != nil {
			return err
		}
	}
	return nil
}

// measure tries mutants of one room, and prints those that its tests do not notice and the ratio.
func measure(ctx context.Context, root, room string, o options, out io.Writer) error {
	all, err := mutantsOf(root, room)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, root, room, all)
	if err != nil {
		return err
	}
	defer b.close()
	shuffle(all, o.seed)
	all = all[:min(max(o.n, 0), len(all))]
	limited, cancel := context.WithTimeout(ctx, o.time)
	defer cancel()
	survivors, tried := b.try(limited, all)
	if err := ctx.Err(); err != nil {
		return err
	}
	slices.SortFunc(survivors, func(a, b mutant) int { return cmp.Compare(a.number, b.number) })
	for _, m := range survivors {
		fmt.Fprintln(out, m)
	}
	stopped := ""
	if tried < len(all) {
		stopped = fmt.Sprintf("; stopped after %v, before %d were tried", o.time, len(all))
	}
	killed := tried - len(survivors)
	fmt.Fprintf(out, "%s: %d of %d mutants killed (%d %%), seed %d%s\n", room, killed, tried, 100*killed/max(tried, 1), o.seed, stopped)
	return nil
}
