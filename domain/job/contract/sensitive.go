package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// marked is an output as OpenTofu writes it.
type marked struct {
	Sensitive bool            `json:"sensitive"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// mark returns an output as OpenTofu writes it; false for one of another form.
func (o Output) mark() (m marked, is bool) {
	in := json.NewDecoder(strings.NewReader(o.Value))
	var all map[string]json.RawMessage
	if in.Decode(&all) != nil || all["sensitive"] == nil || all["value"] == nil {
		return m, false
	}
	return m, json.Unmarshal([]byte(o.Value), &m) == nil
}

// Text returns the value as a text: that of a string, and JSON of another one. An output as OpenTofu writes it has the value
// in a member.
func (o Output) Text() string {
	value := o.Value
	if m, is := o.mark(); is {
		value = string(m.Value)
	}
	var text string
	if json.Unmarshal([]byte(value), &text) != nil || value == "null" {
		return value
	}
	return text
}

// Mark returns the outputs of a file. Those with a secret are marked as sensitive.
func Mark(file string, secret func(value string) bool) (string, error) {
	all, err := ParseOutputs([]byte(file))
	if err != nil {
		return "", err
	}
	changed := false
	for i, one := range all {
		m, is := one.mark()
		if is && m.Sensitive || !secret(one.Value) {
			continue
		}
		if !is {
			m.Value = json.RawMessage(one.Value)
		}
		all[i].Value, changed = `{"sensitive":true,"value":`+string(m.Value)+`}`, true
	}
	if !changed {
		return file, nil
	}
	file = write(all)
	if len(file) > MaxOutputBytes {
		return "", fmt.Errorf("cannot use %s: with marks at outputs that have a secret it has more than %d bytes: write less",
			OutputsFile, MaxOutputBytes)
	}
	return file, nil
}

// Part parts the outputs of a file: the sensitive ones, which are marked or named, and a file that has their names alone.
func Part(file string, sensitive []string) (rest string, secret []Output, err error) {
	all, err := ParseOutputs([]byte(file))
	if err != nil {
		return "", nil, err
	}
	for i, one := range all {
		if m, is := one.mark(); is && m.Sensitive || slices.Contains(sensitive, one.Name) {
			secret = append(secret, one)
			all[i].Value = concealed
		}
	}
	if len(secret) == 0 {
		return file, nil, nil
	}
	return write(all), secret, nil
}

// concealed is the value of a sensitive output in a file that people read.
const concealed = `{"sensitive":true}`

// Data returns the outputs of a file that Part has left as texts, and reports whether there are sensitive ones beside.
func Data(file string) (values map[string]string, sensitive bool, err error) {
	all, err := ParseOutputs([]byte(file))
	values = map[string]string{}
	for _, one := range all {
		if one.Value == concealed {
			sensitive = true
			continue
		}
		values[one.Name] = one.Text()
	}
	return values, sensitive, err
}

// write returns a file of outputs.
func write(all []Output) string {
	var to bytes.Buffer
	for i, one := range all {
		to.WriteString(map[bool]string{true: `{"`, false: `,"`}[i == 0] + one.Name + `":` + one.Value)
	}
	return to.String() + "}"
}
