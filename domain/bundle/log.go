package bundle

import "fmt"

// Log names the log of a container. The zero Log is none.
type Log struct{ Namespace, Pod, Container string }

// After returns a text, followed by the command that prints the log.
func (l Log) After(text string) string {
	if l == (Log{}) {
		return text
	}
	return fmt.Sprintf("%s; see kubectl -n %s logs %s -c %s", text, l.Namespace, l.Pod, l.Container)
}
