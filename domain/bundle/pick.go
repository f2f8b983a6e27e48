package bundle

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// pick chooses elements of a list: all, one by its index, by its value, or by its fields.
type pick struct {
	all bool
	// index counts from 0; negative for none.
	index int
	// value is JSON; empty for none.
	value string
	// keys are fields that lead to one element, with their values as JSON.
	keys map[string]string
}

// errPick says how an element is chosen.
var errPick = errors.New(`an element of a list is written as [name="web"], [0], [="value"] or [*]`)

// parsePick reads a choice from the begin of a path.
func parsePick(path string) (p pick, rest string, err error) {
	inside, rest, closed := brackets(path)
	p.index = -1
	switch index, failed := strconv.Atoi(inside); {
	case !closed:
		return p, "", errPick
	case inside == "*":
		p.all = true
	case failed == nil && index >= 0:
		p.index = index
	case strings.HasPrefix(inside, "="):
		if p.value = inside[1:]; !json.Valid([]byte(p.value)) {
			return p, "", errPick
		}
	default:
		p.keys, err = parseKeys(inside)
	}
	return p, rest, err
}

// brackets returns the content of the first pair of brackets. Quoted ones are skipped.
func brackets(path string) (inside, rest string, closed bool) {
	if !strings.HasPrefix(path, "[") {
		return "", "", false
	}
	if end := unquoted(path, ']'); end > 0 {
		return path[1:end], path[end+1:], true
	}
	return "", "", false
}

// unquoted is where a sign stands first outside of quotes; -1 for nowhere.
func unquoted(text string, sign byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == sign && !quoted:
			return i
		}
	}
	return -1
}

// parseKeys reads fields with their values, separated by commas.
func parseKeys(text string) (map[string]string, error) {
	keys := map[string]string{}
	for text != "" {
		part := text
		if end := unquoted(text, ','); end >= 0 {
			part, text = text[:end], text[end+1:]
		} else {
			text = ""
		}
		name, value, found := strings.Cut(part, "=")
		if !found || name == "" || !json.Valid([]byte(value)) {
			return nil, errPick
		}
		keys[name] = value
	}
	if len(keys) == 0 {
		return nil, errPick
	}
	return keys, nil
}

// takes reports whether an element is chosen. A field that it lacks has its default, which is unknown here: the
// element is chosen if another field agrees and none differs.
func (p pick) takes(at int, one any) bool {
	fields, _ := one.(map[string]any)
	agree := 0
	for name, value := range p.keys {
		has, there := fields[name]
		if there && written(has) != value {
			return false
		}
		if there {
			agree++
		}
	}
	return p.all || p.index == at || p.value != "" && written(one) == p.value || agree > 0
}

// same returns the live element that an element is: that of the same name or key, or
// else at the same place.
func (p pick) same(at int, one any, live []any) (any, bool) {
	by := p
	if fields, _ := one.(map[string]any); p.all && fields["name"] != nil {
		by = pick{index: -1, keys: map[string]string{"name": written(fields["name"])}}
	} else if p.all {
		by = pick{index: at}
	}
	for i, other := range live {
		if by.takes(i, other) {
			return other, true
		}
	}
	return nil, false
}
