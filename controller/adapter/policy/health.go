package policy

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// workOfHealth is how much one probe may do, in CEL's units.
const workOfHealth = 1_000_000

// Health is compiled probes of custom kinds. It may be used by several at once.
type Health struct{ probes map[bundle.ID]probe }

// probe is one that can be evaluated; what was not written is nil.
type probe struct {
	bundle.Probe

	ready, failed cel.Program
}

// CompileHealth prepares probes, whose expressions are CEL over "object":
// object.status.phase == "Running". The error names each that is no expression with the
// answer yes or no, and where in it that is.
func CompileHealth(probes []bundle.Probe) (*Health, error) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.ParserExpressionSizeLimit(longest))
	if err != nil {
		return nil, fmt.Errorf("cannot prepare health checks: %w", err)
	}
	h := &Health{probes: map[bundle.ID]probe{}}
	var faults []error
	for _, p := range probes {
		prepared := probe{Probe: p}
		for _, part := range []struct {
			name, text string
			to         *cel.Program
		}{{"ready", p.Ready, &prepared.ready}, {"failed", p.Failed, &prepared.failed}} {
			if part.text == "" {
				continue
			}
			if *part.to, err = compile(env, part.text, workOfHealth); err != nil {
				faults = append(faults, fmt.Errorf("cannot use health check of %s, %s: %w", p.Kind, part.name, err))
			}
		}
		h.probes[bundle.ID{Group: p.Group, Kind: p.Kind}] = prepared
	}
	return h, errors.Join(faults...)
}

// Judge returns how an object is, and what it waits for; known is false for kinds without a
// probe. What an expression reads may not be there yet: then it is not true yet.
func (h *Health) Judge(o bundle.Object) (health bundle.Health, says string, known bool) {
	p, known := h.probes[bundle.ID{Group: o.ID().Group, Kind: o.ID().Kind}]
	if !known {
		return "", "", false
	}
	if p.failed != nil {
		if failed, err := answer(p.failed, "object", map[string]any(o)); failed && err == nil {
			return bundle.Failing, "its health check says that it has failed: " + p.Failed, true
		}
	}
	if p.ready == nil {
		return bundle.Ready, "", true
	}
	switch ready, err := answer(p.ready, "object", map[string]any(o)); {
	case err != nil:
		return bundle.InProgress, fmt.Sprintf("its health check waits for %s: %v", p.Ready, err), true
	case !ready:
		return bundle.InProgress, "its health check waits for " + p.Ready, true
	}
	return bundle.Ready, "", true
}
