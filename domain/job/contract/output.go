package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"unicode/utf8"
)

// The limits of the outputs of a run.
const (
	// MaxOutputs is the number of outputs.
	MaxOutputs = 128
	// MaxOutputBytes is the size of the file.
	MaxOutputBytes = 256 << 10
)

// Output is one output of a run.
type Output struct {
	Name string
	// Value is a JSON value without needless space. Numbers have the digits that the template wrote.
	Value string
}

var outputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// ParseOutputs reads the file of outputs: a JSON object whose members are the outputs, sorted by name in the result.
// An empty file has none. Errors name file, line and cure.
func ParseOutputs(text []byte) ([]Output, error) {
	if len(text) > MaxOutputBytes {
		return nil, fmt.Errorf("cannot use %s: it has %d bytes, more than %d: write less, or store it in %s",
			OutputsFile, len(text), MaxOutputBytes, State)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if !utf8.Valid(text) { // else it grows on its way, and comes without what it had
		return nil, fmt.Errorf("cannot use %s: it is not UTF-8: write bytes as base64", OutputsFile)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	all, err := readOutputs(in)
	if err != nil {
		at := in.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		line := 1 + bytes.Count(text[:min(int(at), len(text))], []byte("\n"))
		return nil, fmt.Errorf("cannot use %s: line %d: %w", OutputsFile, line, err)
	}
	slices.SortFunc(all, func(a, b Output) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return all, nil
}

// errCutOff is for a file whose end is missing.
var errCutOff = errors.New("the file ends within a value: write it under another name, then rename it")

func readOutputs(in *json.Decoder) ([]Output, error) {
	first, err := in.Token()
	if err != nil {
		return nil, cutOff(err)
	}
	if first != json.Delim('{') {
		return nil, errors.New(`it is not a JSON object: write {"NAME": VALUE}`)
	}
	var all []Output
	seen := map[string]bool{}
	for in.More() {
		one, err := readOutput(in)
		switch {
		case err != nil:
			return nil, err
		case seen[one.Name]:
			return nil, fmt.Errorf("output %q is there twice: remove one", one.Name)
		case len(all) == MaxOutputs:
			return nil, fmt.Errorf("it has more than %d outputs: join some into an object", MaxOutputs)
		}
		seen[one.Name] = true
		all = append(all, one)
	}
	if _, err := in.Token(); err != nil {
		return nil, cutOff(err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object: remove it")
	}
	return all, nil
}

func readOutput(in *json.Decoder) (Output, error) {
	token, err := in.Token()
	if err != nil {
		return Output{}, cutOff(err)
	}
	name, _ := token.(string)
	if !outputName.MatchString(name) {
		return Output{}, fmt.Errorf("cannot use output name %q: begin with a letter or _, then letters, digits, _ and -, 128 at most", name)
	}
	var value json.RawMessage
	if err := in.Decode(&value); err != nil {
		return Output{}, cutOff(err)
	}
	var short bytes.Buffer
	if err := json.Compact(&short, value); err != nil {
		return Output{}, err
	}
	return Output{Name: name, Value: short.String()}, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutOff
	}
	return err
}
