package main

// style is the colour of a text.
type style string

// The styles, as a terminal's escape sequences.
const (
	plain  style = ""
	bold   style = "\x1b[1m"
	good   style = "\x1b[32m"
	warns  style = "\x1b[33m"
	bad    style = "\x1b[31m"
	faint  style = "\x1b[2m"
	normal       = "\x1b[0m"
)

// paint returns a text in a style, where the screen shows colours.
func (s screen) paint(in style, text string) string {
	if !s.colored || in == plain || text == "" {
		return text
	}
	return string(in) + text + normal
}
