package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Between the columns of a table, and the narrowest that a column becomes by shortening.
const (
	gap      = "   "
	narrowed = 12
	// wrappedTo is the narrowest that a wrapped column becomes before the others are shortened.
	wrappedTo = 24
)

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

// table prints rows under a header. On a terminal the widest cells are shortened until each row
// fits one line; elsewhere every cell is printed whole.
type table struct {
	screen screen
	rows   [][]cell
	// printed are the widths of the columns that are printed already; nil for none.
	printed []int
	// wrapped breaks the last column into lines instead of shortening it.
	wrapped bool
	// below prints the last column below each row where the rows do not fit the terminal, and
	// shortens nothing.
	below bool
}

// table returns an empty table with a header.
func (s screen) table(header ...string) *table {
	t := &table{screen: s}
	row := make([]cell, len(header))
	for i, name := range header {
		row[i] = cell{name, bold}
	}
	t.rows = append(t.rows, row)
	return t
}

// row adds a row of cells: each a string, or a cell in a style.
func (t *table) row(cells ...any) {
	row := make([]cell, len(cells))
	for i, c := range cells {
		styled, ok := c.(cell)
		if !ok {
			styled.text = fmt.Sprint(c)
		}
		styled.text = strings.Join(strings.Fields(visible(styled.text)), " ")
		row[i] = styled
	}
	t.rows = append(t.rows, row)
}

// print writes the table. Rows that are added later continue it in the next call.
func (t *table) print() error {
	var text strings.Builder
	if t.below && !t.fits() {
		t.writeBelow(&text)
	} else {
		t.printed = t.widths()
		for _, row := range t.rows {
			t.write(&text, row, t.printed)
		}
	}
	t.rows = nil
	_, err := fmt.Fprint(t.screen.out, text.String())
	return err
}

// fits reports whether the rows fit the terminal as they are.
func (t *table) fits() bool {
	widths := t.natural()
	return t.screen.width == 0 || total(widths)+len(gap)*(len(widths)-1) <= t.screen.width
}

// writeBelow writes the rows, each with its last cell below it.
func (t *table) writeBelow(text *strings.Builder) {
	widths := t.natural()
	last := len(widths) - 1
	for i, row := range t.rows {
		t.write(text, row[:last], widths[:last])
		if i > 0 && row[last].text != "" {
			text.WriteString(wrap(row[last].text, "    ", t.screen.width))
		}
	}
}

// write writes one row: each cell shortened, the last one broken into lines if the table wraps it.
func (t *table) write(text *strings.Builder, row []cell, widths []int) {
	last := len(row) - 1
	left := 0
	for i, c := range row[:last] {
		short := shorten(c.text, widths[i])
		text.WriteString(t.screen.paint(c.style, short) + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(short)) + gap)
		left += widths[i] + len(gap)
	}
	lines := []string{shorten(row[last].text, widths[last])}
	if t.wrapped {
		lines = strings.Split(strings.TrimSuffix(wrap(row[last].text, "", widths[last]), "\n"), "\n")
	}
	for i, line := range lines {
		if i > 0 {
			text.WriteString(strings.Repeat(" ", left))
		}
		text.WriteString(t.screen.paint(row[last].style, line) + "\n")
	}
}

// natural returns the width of each column as nothing is shortened, which is never less than printed.
func (t *table) natural() []int {
	widths := slices.Clone(t.printed)
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	return widths
}

// widths returns the width of each column. The widest one gives first what the terminal lacks.
func (t *table) widths() []int {
	widths := t.natural()
	if t.screen.width == 0 {
		return widths
	}
	room := t.screen.width - len(gap)*(len(widths)-1)
	if last := len(widths) - 1; t.wrapped {
		widths[last] = min(widths[last], max(room-total(widths[:last]), wrappedTo))
	}
	for total(widths) > room && slices.Max(widths) > narrowed {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	return widths
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	return sum
}

// shorten cuts a text to a number of characters and ends a shortened one with "…".
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}
