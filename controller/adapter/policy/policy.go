package policy

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Rule is one expression that has to hold for a plan to be allowed.
type Rule struct {
	// Name is how people know it.
	Name string `json:"name"`
	// Expression is CEL over "plan", a bundle.Preview with the names of its JSON:
	// plan.actions.all(a, a.verb != "delete").
	Expression string `json:"expression"`
	// Message says why a plan is refused; by default the expression.
	Message string `json:"message"`
}

// Parse reads a YAML list of rules. The error names fields that are unknown, and rules
// without a name or an expression.
func Parse(text []byte) ([]Rule, error) {
	var rules []Rule
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		return nil, fmt.Errorf("cannot read the policy: it is not a list of {name, expression, message}: %w", err)
	}
	var faults []error
	seen := map[string]bool{}
	for i, r := range rules {
		switch {
		case r.Name == "" || r.Expression == "":
			faults = append(faults, fmt.Errorf("cannot read the policy: rule %d (%q) needs a name and an expression", i+1, r.Name))
		case seen[r.Name]:
			faults = append(faults, fmt.Errorf("cannot read the policy: two rules are named %q: rename one", r.Name))
		}
		seen[r.Name] = true
	}
	return rules, errors.Join(faults...)
}

// Policy is compiled rules. It may be used by several at once.
type Policy struct{ rules []compiled }

// compiled is a rule that can be evaluated.
type compiled struct {
	Rule

	program cel.Program
}

const (
	// workOfPlan is how much one rule may do, in CEL's units: a hundred things with each of
	// 10,000 objects, in a second or two.
	workOfPlan = 2_000_000
	// longest is how many characters an expression may have.
	longest = 4096
)

// Compile prepares rules. The error names each invalid one, or one without a boolean result, and its position.
func Compile(rules []Rule) (*Policy, error) {
	preview := reflect.TypeFor[bundle.Preview]()
	env, err := cel.NewEnv(
		ext.NativeTypes(preview, ext.ParseStructTag("json")), cel.ParserExpressionSizeLimit(longest),
		cel.Variable("plan", cel.ObjectType("bundle.Preview")),
	)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the policy: %w", err)
	}
	p := &Policy{}
	var faults []error
	for _, r := range rules {
		program, err := compile(env, r.Expression, workOfPlan)
		if err != nil {
			faults = append(faults, fmt.Errorf("cannot use rule %q: %w", r.Name, err))
		}
		p.rules = append(p.rules, compiled{r, program})
	}
	return p, errors.Join(faults...)
}

// compile prepares an expression that answers yes or no.
func compile(env *cel.Env, expression string, work uint64) (cel.Program, error) {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		var all []string
		for _, issue := range issues.Errors() {
			all = append(all, fmt.Sprintf("line %d, column %d: %s", issue.Location.Line(), issue.Location.Column()+1, issue.Message))
		}
		return nil, errors.New(strings.Join(all, "; "))
	}
	if kind := ast.OutputType(); kind != cel.BoolType && kind != cel.DynType {
		return nil, fmt.Errorf("it returns %s: write an expression that returns true or false", kind)
	}
	program, err := env.Program(ast, cel.CostLimit(work))
	if err != nil {
		return nil, fmt.Errorf("cannot prepare it: %w", err)
	}
	return program, nil
}

// Refusals returns the rules that do not allow a plan, in their order; none where it is
// allowed. A rule that cannot be evaluated does not allow it.
func (p *Policy) Refusals(plan bundle.Preview) []bundle.Refusal {
	var all []bundle.Refusal
	for _, r := range p.rules {
		switch allowed, err := answer(r.program, "plan", plan); {
		case err != nil:
			all = append(all, bundle.Refusal{Rule: r.Name, Message: "it cannot be evaluated: " + unquoted(r.Expression, err)})
		case !allowed:
			all = append(all, bundle.Refusal{Rule: r.Name, Message: cmp.Or(r.Message, r.Expression)})
		}
	}
	return all
}

// answer evaluates an expression over one thing.
func answer(program cel.Program, name string, thing any) (bool, error) {
	value, _, err := program.Eval(map[string]any{name: thing})
	if err != nil {
		return false, err //nolint:wrapcheck // the caller says what was evaluated
	}
	yes, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it returns %s instead of true or false", value.Type().TypeName())
	}
	return yes, nil
}

// unquoted returns why an expression cannot be evaluated, without the values that CEL quotes: they may be a Secret's
// (TRUST.md R5). A missing key is named if the expression does.
func unquoted(expression string, err error) string {
	text := err.Error()
	for _, known := range []string{"type conversion error from ", "no such overload", "division by zero", "operation cancelled: "} {
		if strings.HasPrefix(text, known) {
			return text
		}
	}
	if key, missing := strings.CutPrefix(text, "no such key: "); missing && strings.Contains(expression, key) {
		return text
	}
	return "the error may quote a value, and is left out"
}
