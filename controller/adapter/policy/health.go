package policy

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// workOfHealth is how much one probe may do, in CEL's units.
const workOfHealth = 1_000_000

// Health is compiled probes of custom kinds. It may be used by several at once.
type Health struct{ probes map[bundle.ID]check }

// check is one that can be evaluated; what was not written is nil.
type check struct {
	bundle.Probe

	ready, failed cel.Program
}

// CompileHealth prepares probes, whose expressions are CEL over "object": object.status.phase == "Running". The error
// names each invalid one, or one without a boolean result, and its position.
func CompileHealth(probes []bundle.Probe) (*Health, error) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.ParserExpressionSizeLimit(longest))
	if err != nil {
		return nil, fmt.Errorf("cannot prepare health checks: %w", err)
	}
	h := &Health{probes: map[bundle.ID]check{}}
	var faults []error
	for _, p := range probes {
		prepared := check{Probe: p}
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

// Probe returns the finding of a health check for an object; known is false for kinds without one. An expression that
// reads a missing field is not yet true. A failure is terminal: the user has described it.
func (h *Health) Probe(o map[string]any) (opinion health.Opinion, known bool) {
	id := bundle.Object(o).ID()
	p, known := h.probes[bundle.ID{Group: id.Group, Kind: id.Kind}]
	if !known {
		return health.Opinion{}, false
	}
	found := func(state health.State, says string) (health.Opinion, bool) {
		return health.Opinion{State: state, Says: says, Rule: "a health check of the deployment", Terminal: state == health.Failing}, true
	}
	if p.failed != nil {
		if failed, err := answer(p.failed, "object", o); failed && err == nil {
			return found(health.Failing, "its health check says that it has failed: "+p.Failed)
		}
	}
	if p.ready == nil {
		return found(health.Ready, "")
	}
	switch ready, err := answer(p.ready, "object", o); {
	case err != nil:
		return found(health.InProgress, fmt.Sprintf("its health check waits for %s: %s", p.Ready, unquoted(p.Ready, err)))
	case !ready:
		return found(health.InProgress, "its health check waits for "+p.Ready)
	}
	return found(health.Ready, "")
}
