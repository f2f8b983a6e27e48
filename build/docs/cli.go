package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// usage is the --help of a command, in parts.
type usage struct {
	long, line, examples, flags, exits string
	// groups are its commands, under the titles that help has for them.
	groups []group
}

// group is a title and the commands below it, by name and summary.
type group struct {
	title    string
	commands [][2]string
}

// cli writes a page for each command of orcon, and their list.
func (g generator) cli(ctx context.Context) error {
	root, err := g.help(ctx)
	if err != nil {
		return err
	}
	list := newPage("The command line")
	list.prose(root.long)
	for _, group := range root.groups {
		if group.title == "Additional Commands" {
			continue
		}
		if err := g.verbs(ctx, list, root.exits, group); err != nil {
			return err
		}
	}
	list.line("## Exit codes\n")
	list.prose(root.exits)
	if root.flags != "" {
		list.line("## Flags of every command\n\n```text\n%s```\n", root.flags)
	}
	return g.write("cli/README.md", list)
}

// verbs lists the commands of a group, and writes the page of each.
func (g generator) verbs(ctx context.Context, list *page, exits string, of group) error {
	list.line("## %s\n", of.title)
	list.table("command", "what it does")
	for _, c := range of.commands {
		if c[0] == "help" || c[0] == "completion" {
			continue
		}
		list.row(fmt.Sprintf("[`orcon %s`](%s.md)", c[0], c[0]), c[1])
		if err := g.verb(ctx, exits, c); err != nil {
			return err
		}
	}
	list.line("")
	return nil
}

// verb writes the page of a command and of those below it.
func (g generator) verb(ctx context.Context, exits string, c [2]string) error {
	p := newPage("orcon " + c[0])
	u, err := g.help(ctx, c[0])
	if err != nil {
		return err
	}
	u.write(p, "##", exits)
	if err := g.below(ctx, p, exits, u, c[0]); err != nil {
		return err
	}
	return g.write("cli/"+c[0]+".md", p)
}

// below adds the commands below a command, which words name.
func (g generator) below(ctx context.Context, p *page, exits string, of usage, words ...string) error {
	for _, group := range of.groups {
		for _, c := range group.commands {
			words := append(slices.Clone(words), c[0])
			inner, err := g.help(ctx, words...)
			if err != nil {
				return err
			}
			p.line("## orcon %s\n", strings.Join(words, " "))
			inner.write(p, "###", exits)
			if err := g.below(ctx, p, exits, inner, words...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u usage) write(p *page, heading, exits string) {
	p.prose(u.long)
	p.line("```text\n%s```\n", u.line)
	if u.examples != "" {
		p.line("%s Examples\n\n```text\n%s```\n", heading, u.examples)
	}
	if u.flags != "" {
		p.line("%s Flags\n\n```text\n%s```\n", heading, u.flags)
	}
	if u.exits != "" {
		exits = u.exits
	}
	p.line("%s Exit codes\n", heading)
	p.prose(exits)
}

// help runs a command with --help and takes it apart.
func (g generator) help(ctx context.Context, words ...string) (usage, error) {
	out, err := exec.CommandContext(ctx, g.orcon, append(words, "--help")...).Output()
	if err != nil {
		return usage{}, fmt.Errorf("cannot run orcon %s --help: %w", strings.Join(words, " "), err)
	}
	return parseUsage(string(out)), nil
}

// parseUsage takes apart what cobra prints: a text, then parts under titles.
func parseUsage(text string) usage {
	var u usage
	u.long, text, _ = strings.Cut(text, "Usage:\n")
	text, _, _ = strings.Cut(text, "\nUse \"orcon")
	text = "Usage:\n" + text
	at := regexp.MustCompile(`(?m)^([A-Z][A-Za-z ]+):\n`).FindAllStringSubmatchIndex(text, -1)
	for i, found := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		body := strings.TrimRight(text[found[1]:end], "\n") + "\n"
		switch title := text[found[2]:found[3]]; title {
		case "Usage":
			u.line = outdent(body)
		case "Examples":
			u.examples = outdent(body)
		case "Flags", "Global Flags":
			u.flags += body
		case "Aliases":
		default:
			g := group{title: title}
			for _, c := range regexp.MustCompile(`(?m)^  (\S+)\s+(.+)$`).FindAllStringSubmatch(body, -1) {
				g.commands = append(g.commands, [2]string{c[1], c[2]})
			}
			u.groups = append(u.groups, g)
		}
	}
	if before, exits, ok := strings.Cut(u.long, "Exit codes:"); ok {
		first, rest, _ := strings.Cut(exits, "\n\n")
		u.long, u.exits = before+rest, first
	}
	return u
}

// outdent takes two leading spaces from each line.
func outdent(text string) string { return regexp.MustCompile(`(?m)^  `).ReplaceAllString(text, "") }
