package tool

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// flags are the flags of a tool. They may stand before and after the arguments, as in Juju.
type flags struct {
	*pflag.FlagSet
	// format and output say how and where a result is printed.
	format, output string
}

func newFlags(name string) *flags {
	f := &flags{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError), format: smart}
	f.SetOutput(io.Discard)
	f.SortFlags = true
	return f
}

// prints declares the flags of a tool that prints a value.
func (f *flags) prints(format string) {
	f.StringVar(&f.format, "format", format, "`how` to print: "+strings.Join(formats(), ", "))
	f.StringVarP(&f.output, "output", "o", "", "the `file` to print to")
}

// relation declares -r.
func (f *flags) relation(written *string, usage string) {
	f.StringVarP(written, "relation", "r", "", usage)
}

// hidden declares a flag that Juju keeps for old scripts.
func (f *flags) hidden(name string) {
	if err := f.MarkHidden(name); err != nil {
		panic(err) // a tool that hides a flag it does not have fails all its tests
	}
}

// parse reads the arguments of a call and returns those other than flags, or pflag.ErrHelp if only help is requested.
func (f *flags) parse(args []string) ([]string, error) {
	if err := f.Parse(args); err != nil {
		return nil, f.explain(err)
	}
	if !isFormat(f.format) {
		return nil, misuse(orHelp(f.Name(), spelling.Nearest(f.format, formats())), "unknown format; the formats are %s",
			strings.Join(formats(), ", "))
	}
	return f.Args(), nil
}

// explain says what is wrong with a flag, without its value: that may be a
// secret that was meant for another place.
func (f *flags) explain(err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if unknown.GetSpecifiedShortnames() != "" {
			return misuse(orHelp(f.Name(), ""), "unknown flag -%s", firstLetter(unknown.GetSpecifiedName()))
		}
		return misuse(orHelp(f.Name(), f.nearest(unknown.GetSpecifiedName())), "unknown flag %.40q", "--"+unknown.GetSpecifiedName())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return misuse("write it after the flag", "flag --%s needs a value", missing.GetFlag().Name)
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		kind := map[string]string{"bool": "true or false", "int": "a number"}[value.GetFlag().Value.Type()]
		return misuse("", "flag --%s takes %s", value.GetFlag().Name, kind)
	}
	return misuse(orHelp(f.Name(), ""), "flags are written as --name or --name=value")
}

// firstLetter returns the letter of a flag, or ? for one that cannot be typed.
func firstLetter(name string) string {
	if name[0] <= ' ' || name[0] > '~' {
		return "?"
	}
	return name[:1]
}

// nearest returns the flag that was probably meant, or "".
func (f *flags) nearest(written string) string {
	var known []string
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, flag.Name)
		}
	})
	if name := spelling.Nearest(written, known); name != "" {
		return "--" + name
	}
	return ""
}

// orHelp returns the cure of a misspelling.
func orHelp(name, nearest string) string {
	if nearest != "" {
		return fmt.Sprintf("did you mean %s?", nearest)
	}
	return "see " + name + " --help"
}

// tooMany refuses arguments that a tool has no place for. They are not repeated.
func tooMany(name string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return misuse("see "+name+" --help", "unrecognized args: %d more than %s takes", len(args), name)
}
