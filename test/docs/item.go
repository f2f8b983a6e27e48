package docs

import "strings"

// Items returns the items of all lists below a heading, each as one line, up to the next heading of its level.
func Items(text, heading string) (items []string) {
	level := strings.Repeat("#", strings.Count(strings.SplitN(heading, " ", 2)[0], "#")) + " "
	inside, open := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		item, begins := strings.CutPrefix(line, "- ")
		more, goesOn := strings.CutPrefix(line, "  ")
		switch {
		case line == heading:
			inside = true
		case inside && strings.HasPrefix(line, level):
			return items
		case inside && begins:
			items, open = append(items, item), true
		case inside && open && goesOn:
			items[len(items)-1] += " " + more
		default:
			open = false
		}
	}
	return items
}
