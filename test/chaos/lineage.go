package chaos

import (
	"fmt"
	"strconv"
	"strings"
)

// Lineage is what came about in one Workspace, whose runs each add the lines "RUN 1", "RUN 2" … to one file of the state.
// It is judged without any rule of the program: by the journal that the runs wrote outside, and by what is stored.
type Lineage struct {
	// Journal has the lines "RUN begins FOUND", with the state that was found as State returns it, "RUN writes N" before a
	// line is written and "RUN wrote N" after it.
	Journal string
	// Ends are the runs in order.
	Ends []End
}

// End is what was seen of a run that has ended.
type End struct {
	Run, Outcome string
	// Generation is the number of the current generation after it, and State its content.
	Generation int64
	State      string
	// Kept are the contents of the archives that the Workspace keeps beside its generations.
	Kept []string
	// Accepted reports that a person made a checkpoint the generation: it may lack what was written after it.
	Accepted bool
	// Stored is the content of the newest archive that the store has of the run; nil for none.
	Stored *string
}

// The outcomes of runs whose state is that of the Workspace.
const (
	committed = "Committed"
	unchanged = "Unchanged"
	none      = "None"
)

// deeds are what the journal says of one run.
type deeds struct {
	begun         bool
	found         string
	writes, wrote int
}

// Found returns how a journal names a state: by its number of bytes.
func Found(state string) string { return strconv.Itoa(len(state)) }

// Faults returns what must not have come about: lost, repeated and mixed states, and runs at the same time.
func (l Lineage) Faults() []string {
	did, faults := l.read()
	state, number := "", int64(0)
	for _, e := range l.Ends {
		d := did[e.Run]
		if d == nil {
			d = &deeds{}
		}
		if d.begun && d.found != Found(state) {
			faults = append(faults, fmt.Sprintf("%s found a state of %s bytes, and not that of generation %d with %s",
				e.Run, d.found, number, Found(state)))
		}
		if fault := e.judge(d, state, number); fault != "" {
			faults = append(faults, e.Run+" ("+e.Outcome+") "+fault)
		}
		state, number = e.State, e.Generation
	}
	return faults
}

// judge compares the end of a run with what it did and with the state before it.
func (e End) judge(d *deeds, state string, number int64) string {
	added, follows := strings.CutPrefix(e.State, state)
	lines := strings.Count(added, "\n")
	whole := (lines >= d.wrote || e.Accepted) && lines <= d.writes
	switch made := e.Generation - number; {
	case made < 0 || made > 1:
		return fmt.Sprintf("leaves generation %d after %d", e.Generation, number)
	case made == 0 && e.State != state:
		return fmt.Sprintf("changed generation %d", number)
	case !follows || added != Lines(e.Run, lines):
		return fmt.Sprintf("leaves a state that is not the one before and its own lines: %q after %q", e.State, state)
	case e.Outcome == committed && (made != 1 || !whole):
		return fmt.Sprintf("has %d lines in the state, and wrote %d to %d: a lost commit", lines, d.wrote, d.writes)
	case e.Outcome == unchanged && (made != 0 || d.wrote > 0), e.Outcome == none && (made != 0 || d.begun):
		return fmt.Sprintf("wrote %d lines, and made %d generations", d.wrote, made)
	}
	return e.lost(d)
}

// lost reports an archive of a run whose content is nowhere in what the Workspace names.
func (e End) lost(d *deeds) string {
	if e.Stored == nil || strings.HasPrefix(e.State, *e.Stored) {
		return ""
	}
	for _, one := range e.Kept {
		if strings.HasPrefix(one, *e.Stored) {
			return ""
		}
	}
	return fmt.Sprintf("stored %q, of the %d lines that it wrote, and nothing names it", *e.Stored, d.wrote)
}

// read returns what each run did, and the runs that were not alone.
func (l Lineage) read() (did map[string]*deeds, faults []string) {
	did = map[string]*deeds{}
	last, over := "", map[string]bool{}
	for line := range strings.Lines(l.Journal) {
		words := strings.Fields(line)
		if len(words) != 3 {
			faults = append(faults, fmt.Sprintf("the journal has the line %q", line))
			continue
		}
		run, verb, text := words[0], words[1], words[2]
		if run != last && over[run] {
			faults = append(faults, fmt.Sprintf("%s goes on after %s has begun", run, last))
		}
		over[last], last = true, run
		d := did[run]
		if d == nil {
			d = &deeds{}
			did[run] = d
		}
		n, _ := strconv.Atoi(text)
		switch verb {
		case "begins":
			if d.begun {
				faults = append(faults, run+" begins a second time")
			}
			d.begun, d.found = true, text
		case "writes":
			d.writes = n
		case "wrote":
			d.wrote = n
		}
	}
	return did, faults
}

// Lines returns the first lines of a run.
func Lines(run string, n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "%s %d\n", run, i+1)
	}
	return all.String()
}

// Piece is a part of a stored log: what is missing before it, and its content.
type Piece struct {
	Missing int64
	Content string
}

// Log is the stored output of a run, whose lines are those of its state too.
type Log struct {
	Run    string
	Pieces []Piece
	// Ended reports that the end of the output is stored; otherwise it shows as cut off.
	Ended bool
}

// Fault compares a log with the number of lines that the run wrote at least; "" for a log whose holes are all recorded.
func (l Log) Fault(wrote int) string {
	want := Lines(l.Run, wrote+1)
	at := 0
	for _, p := range l.Pieces {
		at += int(p.Missing)
		if at+len(p.Content) > len(want) || want[at:at+len(p.Content)] != p.Content {
			return fmt.Sprintf("the log of %s has %q at %d", l.Run, p.Content, at)
		}
		at += len(p.Content)
	}
	if l.Ended && at < len(Lines(l.Run, wrote)) {
		return fmt.Sprintf("the log of %s ends at %d of %d bytes, and no hole is recorded", l.Run, at, len(Lines(l.Run, wrote)))
	}
	return ""
}

// Wrote returns how many lines each run wrote, by the journal.
func (l Lineage) Wrote() map[string]int {
	did, _ := l.read()
	wrote := make(map[string]int, len(did))
	for run, d := range did {
		wrote[run] = d.wrote
	}
	return wrote
}
