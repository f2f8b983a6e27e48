package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// Library is compiled probes of kinds. It may be used by several at once.
type Library struct{ probes map[bundle.ID]shipped }

// shipped is a probe of a library, with a program for each of its expressions.
type shipped struct {
	library.Probe

	programs map[string]cel.Program
}

// Shipped returns the probes that come with this program. The first call compiles them for the whole process.
func Shipped() (*Library, error) { return compileShipped() }

// compileShipped compiles hundreds of expressions, which is more work than a reconcile.
var compileShipped = sync.OnceValues(func() (*Library, error) { //nolint:gochecknoglobals // it never changes
	probes, err := library.Probes()
	if err != nil {
		return nil, err
	}
	return CompileLibrary(probes)
})

// CompileLibrary prepares probes. The error names each expression that is none, and where in it that is.
func CompileLibrary(probes []library.Probe) (*Library, error) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.ParserExpressionSizeLimit(longest))
	if err != nil {
		return nil, fmt.Errorf("cannot prepare probes: %w", err)
	}
	l := &Library{probes: map[bundle.ID]shipped{}}
	var faults []error
	for _, p := range probes {
		s := shipped{Probe: p, programs: map[string]cel.Program{}}
		for name, text := range expressions(p) {
			if text == "" {
				continue
			}
			if s.programs[name], err = compile(env, text, workOfHealth); err != nil {
				faults = append(faults, fmt.Errorf("cannot use probe %s/%s.yaml, %s: %w", p.Group, p.Kind, name, err))
			}
		}
		if s.programs["says"], err = words(env, p.Says); err != nil {
			faults = append(faults, fmt.Errorf("cannot use probe %s/%s.yaml, says: %w", p.Group, p.Kind, err))
		}
		l.probes[bundle.ID{Group: p.Group, Kind: p.Kind}] = s
	}
	return l, errors.Join(faults...)
}

// expressions returns the probe's expressions that are true or false, by their names.
func expressions(p library.Probe) map[string]string {
	return map[string]string{
		"ready": p.Ready, "failed": p.Failed, "terminal": p.Terminal, "suspended": p.Suspended, "statusless": p.Statusless,
	}
}

// words prepares an expression that returns a text; nil for none.
func words(env *cel.Env, expression string) (cel.Program, error) {
	if expression == "" {
		return nil, nil //nolint:nilnil // there is no expression
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if kind := ast.OutputType(); kind != cel.StringType && kind != cel.DynType {
		return nil, fmt.Errorf("it returns %s: write an expression that returns a text", kind)
	}
	return env.Program(ast, cel.CostLimit(workOfHealth))
}

// Probe returns what the library finds of an object; known is false for kinds without a probe.
func (l *Library) Probe(o map[string]any) (opinion health.Opinion, known bool) {
	id := bundle.Object(o).ID()
	p, known := l.probes[bundle.ID{Group: id.Group, Kind: id.Kind}]
	_, version, _ := strings.Cut(bundle.Object(o).Text("apiVersion"), "/")
	if !known || len(p.Versions) > 0 && !slices.Contains(p.Versions, version) {
		return health.Opinion{}, false
	}
	opinion = health.Opinion{
		State: health.InProgress, Rule: "Orcon's probe of " + p.Kind, Ignores: p.Ignores, Statusless: p.holds("statusless", o),
	}
	switch {
	case p.holds("terminal", o):
		opinion.State, opinion.Terminal = health.Failing, true
	case p.holds("failed", o):
		opinion.State = health.Failing
	case p.holds("suspended", o):
		opinion.State = health.Suspended
	case p.holds("ready", o):
		opinion.State = health.Ready
		return opinion, true
	}
	words := map[health.State]string{health.Failing: "has failed by its own status", health.Suspended: "is suspended"}
	opinion.Says, opinion.Otherwise = p.explain(o), cmp.Or(words[opinion.State], "waits for "+p.Ready)
	return opinion, true
}

// holds reports whether an expression is true. What it reads may not be there yet.
func (p shipped) holds(name string, o map[string]any) bool {
	if p.programs[name] == nil {
		return false
	}
	is, err := answer(p.programs[name], "object", o)
	return is && err == nil
}

// explain returns what the object says of its state; empty where it says nothing.
func (p shipped) explain(o map[string]any) string {
	says := p.programs["says"]
	if says == nil {
		return ""
	}
	value, _, err := says.Eval(map[string]any{"object": o})
	if err != nil {
		return ""
	}
	text, _ := value.Value().(string)
	return text
}
