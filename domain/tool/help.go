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
