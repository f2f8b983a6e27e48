package bundle

import (
	"fmt"
	"strings"
)

// Refusal is one rule of a policy that does not allow a plan.
type Refusal struct {
	// Rule is its name, Message why.
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// String says which rule refuses, and why.
func (r Refusal) String() string { return r.Rule + ": " + r.Message }

// Allowed returns a RefusedError if rules of a policy refuse the plan, and names them all.
func Allowed(refusals []Refusal) error {
	var all []string
	for _, r := range refusals {
		all = append(all, r.String())
	}
	if len(all) == 0 {
		return nil
	}
	return &RefusedError{Refused, fmt.Sprintf("the policy refuses the plan: %s: change the bundle, or the policy", strings.Join(all, "; "))}
}
