package history

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns entries as JSON, one a line.
func Encode(entries []Entry) ([]byte, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, e := range entries {
		if err := encoder.Encode(e); err != nil {
			return nil, fmt.Errorf("cannot write entry %d of the record: %w", e.Sequence, err)
		}
	}
	return lines.Bytes(), nil
}

// Parse reads what Encode wrote, without empty lines.
func Parse(lines []byte) ([]Entry, error) {
	var entries []Entry
	number := 0
	for line := range bytes.Lines(lines) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("cannot read line %d of the record: %w", number, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
