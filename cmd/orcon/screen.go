package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// screen is where a command prints: facts to out, everything else to errs.
type screen struct {
	out, errs io.Writer
	// width is the number of columns of the terminal behind out; 0 if out is not a terminal: nothing is shortened
	// there.
	width int
	// colored reports whether out shows colours.
	colored bool
	// live is the number of columns of the terminal behind errs; 0 if errs is not a terminal: no line is written over
	// there.
	live int
	// quiet leaves out progress and notes, verbose adds details.
	quiet, verbose bool
}

// screenFlags adds the flags of every command that concern what is printed.
func screenFlags(root *cobra.Command) {
	root.PersistentFlags().BoolP("quiet", "q", false, "print results and errors only, no progress or notes")
	root.PersistentFlags().BoolP("verbose", "v", false, "print more details")
	root.PersistentFlags().Bool("no-color", false, "print no colours (also: NO_COLOR=1; only terminals get any)")
}

// screenOf returns the screen of a command.
func screenOf(c *cobra.Command) screen {
	set := func(name string) bool {
		f := c.Flags().Lookup(name)
		return f != nil && f.Value.String() == "true"
	}
	s := screen{out: c.OutOrStdout(), errs: c.ErrOrStderr(), quiet: set("quiet"), verbose: set("verbose")}
	s.width, s.live = columns(s.out), columns(s.errs)
	s.colored = s.width > 0 && !set("no-color") && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// columns returns the width of the terminal behind a writer; 0 where there is none.
func columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// note prints a remark to standard error; nothing with --quiet.
func (s screen) note(text string) {
	if !s.quiet {
		fmt.Fprint(s.errs, wrap(text, "", s.live))
	}
}

// lacks prints what a result lacks to standard error, unbroken, since it may hold commands; also with --quiet, since the
// result would pass for a complete one.
func (s screen) lacks(text string) { fmt.Fprint(s.errs, wrapLines(text, 0)) }

// visible returns a text of the cluster without what would steer a terminal: containers write parts of it.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\n', unicode.IsPrint(r):
			return r
		}
		return -1
	}, text)
}

// wrap breaks a text into indented lines of a width; 0 leaves it one line. A command is not broken,
// so that it can be pasted: it follows a colon, "see" or "run", begins a line, and ends at a
// semicolon or before "or".
func wrap(text, indent string, width int) string {
	text = strings.Join(strings.Fields(visible(text)), " ")
	if width == 0 || utf8.RuneCountInString(indent+text) <= width {
		return indent + text + "\n"
	}
	var out strings.Builder
	line, before, command := indent, ":", false
	for word := range strings.FieldsSeq(text) {
		cure := strings.HasSuffix(before, ":") || before == "see" || before == "run" || before == "or"
		begins := cure && (word == "kubectl" || word == "orcon")
		ends := command && (word == "or" || strings.HasSuffix(line, ";"))
		command = begins || command && !ends
		switch {
		case line == indent:
			line += word
		case begins, ends, !command && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			out.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
		before = word
	}
	return out.String() + line + "\n"
}

// wrapLines breaks each line of a text that is longer than a width, and keeps its indentation.
func wrapLines(text string, width int) string {
	var out strings.Builder
	for line := range strings.SplitSeq(visible(text), "\n") {
		if width == 0 || utf8.RuneCountInString(line) <= width {
			out.WriteString(line + "\n")
			continue
		}
		words := strings.TrimLeft(line, " ")
		out.WriteString(wrap(words, line[:len(line)-len(words)], width))
	}
	return out.String()
}
