package bundle

import (
	"fmt"
	"strings"
)

// Finding is why a definition may not be upgraded: objects that are stored would lose data
// by it, or could not be read or written any more (BUNDLES.md 11).
type Finding struct {
	// Path leads to the field, behind the version: "v1.spec.size". Empty where it is about
	// the definition as a whole.
	Path string
	// Reason describes the fault, Cure the remedy.
	Reason, Cure string
}

// String says where, why, and what to do.
func (f Finding) String() string {
	return strings.TrimPrefix(fmt.Sprintf("%s: %s: %s", f.Path, f.Reason, f.Cure), ": ")
}

// UpgradeError says why a definition is not upgraded.
type UpgradeError struct{ Findings []Finding }

// Error lists the findings.
func (e *UpgradeError) Error() string {
	var all []string
	for _, f := range e.Findings {
		all = append(all, "\n- "+f.String())
	}
	return "stored objects would lose data or become invalid:" + strings.Join(all, "")
}
