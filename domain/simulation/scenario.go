package simulation

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// Scenario is a file: steps, and the manifests and handlers that they name.
type Scenario struct {
	// Name is the file's, for messages.
	Name string
	// Title describes the scenario, from the comment that it begins with.
	Title string
	steps []step
	files map[string]string
}

// step is one line of a scenario with the lines that belong to it.
type step struct {
	line int
	text string
	// expected are the lines after it that begin with ">", if any.
	expected []string
	words    words
	verb     verb
}

// ErrScenario marks a file that is not a scenario.
var ErrScenario = errors.New("not a scenario")

// Parse reads a scenario: a txtar archive whose comment holds the steps, one a line. A line that begins with "#" is
// for readers, one with ">" is the expected result of the step above. All errors are reported at once.
func Parse(name string, text []byte) (Scenario, error) {
	archive := txtar.Parse(text)
	s := Scenario{Name: name, files: map[string]string{}}
	for _, f := range archive.Files {
		s.files[f.Name] = string(f.Data)
	}
	var faults []error
	number := 0
	for line := range strings.Lines(string(archive.Comment)) {
		number++
		if err := s.read(number, strings.TrimRight(line, " \t\r\n")); err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", name, number, err))
		}
	}
	if len(s.steps) == 0 && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("%s: %w: it has no step before its first file", name, ErrScenario))
	}
	if more := len(faults) - mostFaults; more > 0 {
		faults = append(faults[:mostFaults], fmt.Errorf("%s: %w: %d more lines are wrong too", name, ErrScenario, more))
	}
	return s, errors.Join(faults...)
}

// mostFaults is how many wrong lines are named: a file with more is most likely no scenario at all.
const mostFaults = 5

// read takes one line.
func (s *Scenario) read(number int, line string) error {
	text := strings.TrimLeft(line, " \t")
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "#"):
		if len(s.steps) == 0 {
			s.Title = strings.TrimSpace(s.Title + " " + strings.TrimSpace(strings.TrimLeft(text, "#")))
		}
		return nil
	case strings.HasPrefix(text, ">"):
		if len(s.steps) == 0 {
			return fmt.Errorf("%w: nothing stands before what is expected", ErrScenario)
		}
		last := &s.steps[len(s.steps)-1]
		last.expected = append(last.expected, strings.TrimPrefix(strings.TrimPrefix(text, ">"), " "))
		return nil
	}
	next := step{line: number, text: text}
	verb, words, err := findVerb(text)
	next.verb, next.words = verb, words
	s.steps = append(s.steps, next)
	return err
}

// file returns a file of the archive.
func (s *Scenario) file(name string) (string, error) {
	if text, ok := s.files[name]; ok {
		return text, nil
	}
	return "", fmt.Errorf("no file %q follows the steps%s", name, suggestion(name, sortedKeys(s.files)))
}
