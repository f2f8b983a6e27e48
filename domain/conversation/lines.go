package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeEntries writes entries as JSON, one a line.
func EncodeEntries(entries []Entry) ([]byte, error) {
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

// ParseEntries reads what EncodeEntries wrote. Empty lines are left out.
func ParseEntries(lines []byte) ([]Entry, error) {
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
