package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The levels of a page: where its commands run.
const (
	// Local commands need no cluster.
	Local = ""
	// Cluster commands need a cluster on which Orcon is installed.
	Cluster = "cluster"
	// BareCluster commands need a cluster on which Orcon is not installed.
	BareCluster = "bare cluster"
	// OwnCluster commands need a cluster with the bundle controller that no other page uses: they stop it.
	OwnCluster = "own cluster"
	// RunCluster commands need a cluster with the controller of runs, and in IMAGE an image with a shell, by its digest.
	RunCluster = "cluster with runs"
)

// Page is a document.
type Page struct {
	// File is the path from the repository's root, with slashes.
	File string
	// Text is the whole document.
	Text string
	// Level is where the page's commands run.
	Level string
	// Blocks are the fenced blocks in order.
	Blocks []Block
}

// Block is one fenced block of a page.
type Block struct {
	// Line is the number of the line after the opening fence.
	Line int
	// Language is the word after the opening fence.
	Language string
	// Text is what stands between the fences.
	Text string
	// Test is the directive before the fence, without "test:".
	Test string
}

// reasons is the closed list of why commands of a page are not run.
func reasons() []string {
	return []string{"needs a registry", "needs a cloud", "needs a browser", "needs a store", "needs Argo CD"}
}

// Commands reports whether the block holds commands.
func (b Block) Commands() bool { return b.Language == "sh" || b.Language == "console" }

// Runs reports whether the page's test runs the block.
func (b Block) Runs() bool {
	return b.Commands() && !strings.HasPrefix(b.Test, "needs ") && !strings.HasPrefix(b.Test, "ran by ")
}

// Pages returns the documents whose commands and links are checked: README.md,
// what stands beside it for readers, and all of docs/ but its rules.
func Pages(root string) ([]Page, error) {
	files := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORT.md", "test/cluster/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".md" {
			return err
		}
		relative, err := filepath.Rel(root, file)
		files = append(files, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list docs: %w", err)
	}
	var pages []Page
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("cannot read a page: %w", err)
		}
		pages = append(pages, parse(file, string(text)))
	}
	return pages, nil
}

// ForReaders reports whether the page is one of README and docs/, whose commands
// are run; rules and decisions describe, and tell no one to type anything.
func (p Page) ForReaders() bool {
	if strings.HasPrefix(p.File, "docs/rules/") || strings.HasPrefix(p.File, "docs/decisions/") {
		return false
	}
	return p.File == "README.md" || strings.HasPrefix(p.File, "docs/") || p.File == "SECURITY.md" || p.File == "SUPPORT.md"
}

// parse reads a page's level and blocks.
func parse(file, text string) Page {
	p := Page{File: file, Text: text}
	directive := regexp.MustCompile(`^<!-- test: (.+) -->$`)
	var open *Block
	pending, indent, titled := "", "", false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch found := directive.FindStringSubmatch(trimmed); {
		case open != nil && trimmed == "```":
			p.Blocks = append(p.Blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(trimmed, "```"):
			indent = line[:strings.Index(line, "`")]
			open = &Block{Line: i + 2, Language: strings.TrimPrefix(trimmed, "```"), Test: pending}
			pending = ""
		case found != nil && !titled && slices.Contains([]string{Cluster, BareCluster, OwnCluster, RunCluster}, found[1]):
			p.Level = found[1]
		case found != nil:
			pending = found[1]
		case trimmed != "":
			pending, titled = "", true
		}
	}
	return p
}

// Command is a command of a block and what the page shows that it prints.
type Command struct {
	// Line is the number of its first line in the page.
	Line int
	// Script is what bash runs.
	Script string
	// Want is the output that the page shows; any for a block that shows none.
	Want string
	// Exit is the code with which it has to end.
	Exit int
}

// CommandsOf returns the commands of a block: all of a script is one, and each
// "$ " of a console is one.
func CommandsOf(b Block) []Command {
	exit := 0
	if _, err := fmt.Sscanf(b.Test, "exit %d", &exit); err != nil {
		exit = 0
	}
	if b.Language == "sh" {
		return []Command{{Line: b.Line, Script: b.Text, Want: "…", Exit: exit}}
	}
	var all []Command
	here := regexp.MustCompile(`<<-?\s*'?([A-Z]+)'?`)
	until, continued := "", false
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		command, begins := strings.CutPrefix(line, "$ ")
		last := len(all) - 1
		switch {
		case until != "" || continued:
			all[last].Script += "\n" + line
		case begins:
			all = append(all, Command{Line: b.Line + i, Script: command})
		case last >= 0:
			all[last].Want += line + "\n"
			continue
		default:
			continue
		}
		if until == "" {
			if found := here.FindStringSubmatch(line); found != nil {
				until = found[1]
			}
		} else if strings.TrimSpace(line) == until {
			until = ""
		}
		continued = until == "" && strings.HasSuffix(line, `\`)
	}
	if len(all) > 0 {
		all[len(all)-1].Exit = exit
	}
	return all
}
