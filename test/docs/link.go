package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// prose returns a page's text without its fenced blocks, line by line; the lines
// of blocks are empty, so that numbers stay right.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inside {
			lines[i] = ""
		}
		inside = inside != fence
	}
	return lines
}

// anchors returns what the headings of a page are called in links, as GitLab and
// GitHub make them.
func anchors(text string) []string {
	var all []string
	for _, line := range prose(text) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(heading))
		again := name
		for n := 1; slices.Contains(all, again); n++ {
			again = fmt.Sprintf("%s-%d", name, n)
		}
		all = append(all, again)
	}
	return all
}

// brokenLinks names each relative link of a page that leads nowhere.
func brokenLinks(root string, p Page) []string {
	var broken []string
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code := regexp.MustCompile("`[^`]*`")
	for i, line := range prose(p.Text) {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
			if why := leadsNowhere(root, p, found[1]); why != "" {
				broken = append(broken, fmt.Sprintf("%s:%d: %s: %s", p.File, i+1, found[1], why))
			}
		}
	}
	return broken
}

func leadsNowhere(root string, p Page, target string) string {
	if strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, anchored := strings.Cut(target, "#")
	text := p.Text
	if file != "" {
		file = filepath.Join(root, filepath.FromSlash(path.Join(path.Dir(p.File), file)))
		if _, err := os.Stat(file); err != nil {
			return "there is no such file"
		}
		if !anchored {
			return ""
		}
		read, err := os.ReadFile(file)
		if err != nil { // a folder has no headings
			return err.Error()
		}
		text = string(read)
	}
	if anchored && !slices.Contains(anchors(text), anchor) {
		return "there is no such heading"
	}
	return ""
}
