package application

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// maxData is how much all annotations of an object have together, in bytes. The API server judges that after an admission, and
// what YAML makes of a text takes hundreds of times its memory (TRUST.md, Bounds).
const maxData = 256 << 10

// ParseData reads the YAML map of a data.tengu.io/<endpoint> annotation into a databag. Scalars become the text they
// were written as; a null or empty value deletes a derived key (RELATIONS.md P3). On a problem the bag is nil: a bag
// is refused whole (P6).
func ParseData(key, text string) (map[string]string, []Problem) {
	if len(text) > maxData {
		reason := fmt.Sprintf("an annotation has at most %d bytes, this one has %d", maxData, len(text))
		return nil, []Problem{{Key: key, Reason: reason, Cure: "shorten it"}}
	}
	var document, another yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, []Problem{{Key: key, Reason: "it is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "), Cure: dataExample}}
	}
	if len(document.Content) == 0 {
		return nil, []Problem{{Key: key, Reason: "it is empty", Cure: dataExample}}
	}
	if err := decoder.Decode(&another); !errors.Is(err, io.EOF) {
		return nil, []Problem{{Key: key, Reason: "it is not one YAML document", Cure: dataExample}}
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, []Problem{{Key: key, Reason: "it is not a map of keys to values", Cure: dataExample}}
	}
	bag := make(map[string]string, len(root.Content)/2)
	var problems []Problem
	for i := 0; i+1 < len(root.Content) && len(problems) < MaxEntries; i += 2 {
		if p := readPair(bag, root.Content[i], root.Content[i+1]); p != nil {
			p.Key = key
			problems = append(problems, *p)
		}
	}
	if b := databag.CheckSize(bag); b != nil {
		problems = append(problems, Problem{Key: key, Reason: b.Reason, Cure: b.Cure})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return bag, nil
}

const dataExample = `write for example "host: db.example.org" and "port: 5432" on lines of their own`

func readPair(bag map[string]string, key, value *yaml.Node) *Problem {
	name := key.Value
	switch {
	case key.Kind != yaml.ScalarNode || name == "":
		return &Problem{Entry: name, Reason: "a key must be a string", Cure: dataExample}
	case value.Kind != yaml.ScalarNode:
		return &Problem{Entry: name, Reason: "a value is text, a number or a boolean, not a list or a map", Cure: "quote it as JSON in a string"}
	}
	if _, twice := bag[name]; twice {
		return &Problem{Entry: name, Reason: "the key appears twice", Cure: "keep one"}
	}
	text := value.Value
	if value.Tag == "!!null" {
		text = ""
	}
	if b := databag.CheckPair(name, text); b != nil {
		return &Problem{Entry: b.Key, Reason: b.Reason, Cure: b.Cure}
	}
	bag[name] = text
	return nil
}

// ParseEnv reads tengu.io/env: endpoint=KEY,KEY with a ';' or a new line
// between endpoints. The keys are of the endpoint's databag, in order.
func ParseEnv(text string) (map[string][]string, []Problem) {
	asked := map[string][]string{}
	read := text[:min(len(text), MaxList)]
	entries := strings.FieldsFunc(read, func(r rune) bool { return r == ';' || r == '\n' })
	if tooLong := cmp.Or(checkLength(KeyEnv, text), CheckEntries(KeyEnv, len(entries))); tooLong != nil {
		return nil, []Problem{*tooLong}
	}
	var problems []Problem
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		if reason, cure := parseAsked(asked, entry); reason != "" {
			if near := spelling.NearKeys(entry, isAsked); near != "" {
				cure = "write " + near
			}
			problems = append(problems, Problem{Key: KeyEnv, Entry: entry, Reason: reason, Cure: cure})
		}
	}
	if len(asked) == 0 && len(problems) == 0 {
		problems = append(problems, Problem{Key: KeyEnv, Reason: "it is empty", Cure: envExample})
	}
	return asked, problems
}

const envExample = "write for example db=username,password"

func isAsked(entry string) bool {
	wrong, _ := parseAsked(map[string][]string{}, entry)
	return wrong == ""
}

// parseAsked reads one entry into asked, as far as it is right.
func parseAsked(asked map[string][]string, entry string) (reason, cure string) {
	endpoint, list, found := strings.Cut(entry, "=")
	endpoint = strings.TrimSpace(endpoint)
	if !found {
		return "an entry is endpoint=KEY,KEY", envExample
	}
	if reason, cure = checkEndpoint(endpoint); reason != "" {
		return reason, cure
	}
	keys := strings.Split(list, ",")
	if len(keys) > MaxEntries {
		return fmt.Sprintf("a list has at most %d keys", MaxEntries), "read the files"
	}
	var right []string
	for _, key := range keys {
		if key = strings.TrimSpace(key); key == "" || len(key) > databag.MaxKey {
			reason, cure = "a key is missing or too long", envExample
			continue
		}
		right = append(right, key)
	}
	if earlier, twice := asked[endpoint]; twice {
		whole := spelling.Keys(endpoint, slices.Concat(earlier, right)...)
		return "the endpoint is named twice", strings.TrimSuffix("list its keys in one entry: "+whole, ": ")
	}
	asked[endpoint] = right
	return reason, cure
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
