package tool

import (
	"embed"
	"strings"
)

//go:embed help/*.txt
var helps embed.FS

// help returns what a tool's --help prints: a text of its own, with its flags put
// in from where they are declared.
func help(f *flags) []byte {
	text, err := helps.ReadFile("help/" + f.Name() + ".txt")
	if err != nil {
		return []byte(f.FlagUsages()) // a test looks that each tool has a text
	}
	const options = "\nOptions:\n"
	return []byte(strings.Replace(string(text), options, options+f.FlagUsages(), 1))
}

// Help returns what a tool prints with --help.
func Help(name string) string {
	f := newFlags(name)
	tools()[name]().declare(f)
	return string(help(f))
}

// Summary returns the one sentence that the help of a tool begins with; "" for an unknown tool.
func Summary(name string) string {
	text, err := helps.ReadFile("help/" + name + ".txt")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "\nSummary:\n")
	sentence, _, _ := strings.Cut(rest, "\n\n")
	return strings.ReplaceAll(sentence, "\n", " ")
}
