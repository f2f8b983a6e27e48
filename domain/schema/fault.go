package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// violations tells what the library found wrong with the value at path. Its own
// texts are not used: they quote the value.
func violations(path string, err error) []Violation {
	var found *jsonschema.ValidationError
	if err == nil {
		return nil
	}
	if !errors.As(err, &found) {
		return []Violation{{Path: path, Reason: "it does not fit its schema"}}
	}
	return faults(path, found)
}

func faults(path string, e *jsonschema.ValidationError) []Violation {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var all []Violation
		for _, cause := range e.Causes {
			all = append(all, faults(path, cause)...)
		}
		return all
	}
	for _, token := range e.InstanceLocation {
		path = join(path, token)
	}
	_, at, _ := strings.Cut(e.SchemaURL, "#")
	at = unescape(at)
	if e.ErrorKind != nil {
		at += pointer(e.ErrorKind.KeywordPath()...)
	}
	return fault(Violation{Path: path, Schema: at}, e.ErrorKind)
}

// fault says what is wrong, once for each name where names are.
func fault(v Violation, k jsonschema.ErrorKind) []Violation {
	switch k := k.(type) {
	case *kind.Required:
		return eachName(v, k.Missing, "it is missing")
	case *kind.DependentRequired:
		return eachName(v, k.Missing, fmt.Sprintf("it is missing, and where %s is it must be too", k.Prop))
	case *kind.AdditionalProperties:
		return eachName(v, k.Properties, "there is no such name here")
	default:
		v.Reason, v.Expected = tell(k)
		return []Violation{v}
	}
}

// eachName lists one name more than are reported in all: a list of a thousand missing names in each of a thousand
// items has no reader.
func eachName(v Violation, names []string, reason string) []Violation {
	slices.Sort(names)
	names = names[:min(len(names), MaxViolations+1)]
	all := make([]Violation, 0, len(names))
	for _, name := range names {
		all = append(all, Violation{Path: join(v.Path, name), Reason: reason, Schema: v.Schema})
	}
	return all
}

// tell says what is wrong with one value, without saying the value.
func tell(k jsonschema.ErrorKind) (reason, expected string) {
	switch k := k.(type) {
	case *kind.Type:
		return "it is of type " + k.Got, strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "it is not one of the allowed values", oneOf(k.Want)
	case *kind.Const:
		return "it is another value than the only one allowed", oneOf([]any{k.Want})
	case *kind.Format:
		return "it is not of the format " + k.Want, ""
	case *kind.Pattern:
		return unmatched(k.Got, k.Want)
	case *kind.AnyOf:
		return "it fits none of the allowed ways", ""
	case *kind.OneOf:
		return "it fits not exactly one of the allowed ways", ""
	case *kind.Not:
		return "the value is excluded", ""
	case *kind.FalseSchema:
		return "nothing may be here", ""
	case *kind.UniqueItems:
		return "two items are equal", "every item once"
	case *kind.Contains:
		return "no item has the required kind", ""
	case *kind.MinContains:
		return fmt.Sprintf("it has %d items of the kind that is counted", len(k.Got)), fmt.Sprintf("at least %d", k.Want)
	case *kind.MaxContains:
		return "it has too many items of the kind that is counted", fmt.Sprintf("at most %d", k.Want)
	default:
		return tellSize(k)
	}
}

func tellSize(k jsonschema.ErrorKind) (reason, expected string) {
	switch k := k.(type) {
	case *kind.MinLength:
		return "it is too short", fmt.Sprintf("at least %d characters", k.Want)
	case *kind.MaxLength:
		return "it is too long", fmt.Sprintf("at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("it has %d items", k.Got), fmt.Sprintf("at least %d", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("it has %d items", k.Got), fmt.Sprintf("at most %d", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("it has %d names", k.Got), fmt.Sprintf("at least %d", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("it has %d names", k.Got), fmt.Sprintf("at most %d", k.Want)
	case *kind.Minimum:
		return "it is too small", "at least " + decimal(k.Want)
	case *kind.Maximum:
		return "it is too large", "at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "it is too small", "more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "it is too large", "less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "it does not divide evenly", "a multiple of " + decimal(k.Want)
	default:
		return "it does not fit its schema", ""
	}
}

func decimal(r *big.Rat) string {
	text := r.FloatString(6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// maxTold is how many allowed values a violation lists.
const maxTold = 12

func oneOf(values []any) string {
	var all []string
	for _, v := range values[:min(len(values), maxTold)] {
		text, err := json.Marshal(v)
		if err == nil {
			all = append(all, string(text))
		}
	}
	if more := len(values) - maxTold; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// MaxViolations is the number of violations reported at once.
const MaxViolations = 32

// inOrder sorts violations, drops duplicates, and adds how many of too many are left out. Secrets in plain text are
// never left out for others: a write is always refused for them.
func inOrder(all []Violation) []Violation {
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Schema, b.Schema),
			strings.Compare(a.Reason, b.Reason), strings.Compare(a.Expected, b.Expected))
	})
	all = slices.Compact(all)
	if more := len(all) - MaxViolations + 1; more > 1 {
		slices.SortStableFunc(all, func(a, b Violation) int { return cmp.Compare(rank(a), rank(b)) })
		all = append(all[:MaxViolations-1:MaxViolations-1], Violation{Reason: fmt.Sprintf("there are at least %d more violations", more)})
	}
	return all
}

// rank orders violations by urgency, the most urgent first.
func rank(v Violation) int {
	if v.Secret {
		return 0
	}
	return 1
}
