package tool

import (
	"errors"
	"slices"

	"github.com/spf13/pflag"
)

// Need lists the duties of the client around a call.
type Need struct {
	// Files are the files to send along, each once; Stdin stands for standard input.
	Files []string
	// Output is the file that a success writes, or empty: what the client may check
	// before anything is done.
	Output string
}

// Needs tells what a call needs. A call that is wrong needs nothing: Run says
// what is wrong with it.
func Needs(name string, args []string) Need {
	t, f, err := parse(name, args)
	if err != nil {
		return Need{}
	}
	need := Need{Output: f.output}
	if r, ok := t.(reader); ok {
		for _, file := range r.reads() {
			if !slices.Contains(need.Files, file) {
				need.Files = append(need.Files, file)
			}
		}
	}
	return need
}

// Run carries out a call. What it wrote through the ports before it failed is
// the caller's to drop, as a transaction is.
func Run(call Call, context Context) Result {
	t, f, err := parse(call.Name, call.Args)
	if errors.Is(err, pflag.ErrHelp) {
		return Result{Stdout: help(f)}
	}
	if err != nil {
		return Failed(err)
	}
	value, err := t.run(session{Context: context, call: call})
	if err != nil {
		return Failed(err)
	}
	text, err := render(f.format, value)
	switch {
	case err != nil:
		return Failed(err)
	case f.output != "":
		return Result{Output: File{Path: f.output, Content: text}}
	default:
		return Result{Stdout: text}
	}
}
