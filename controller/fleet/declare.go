package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// declared returns what the data declare for the set, or the stop that prevents it.
func (l *look) declared(ctx context.Context) (declared, *integrationset.Stop) {
	read, stop := l.data(ctx)
	l.result.Stale = l.stale
	if stop != nil {
		return declared{}, stop
	}
	filter, err := l.filter(l.set.Spec)
	if err != nil {
		return declared{}, invalid(err)
	}
	selected, err := domain.Select(read.data, filter)
	if err != nil {
		return declared{}, invalid(err)
	}
	l.elsewhere = selected.Elsewhere
	globals, err := globals(l.set)
	if err != nil {
		return declared{}, invalid(err)
	}
	d := declared{
		presence: read.data.Presence, held: selected.Holds,
		idle: map[integrationset.Key]bool{}, faulty: map[integrationset.Key]bool{},
		waits: map[integrationset.Key]string{},
	}
	problems := selected.Problems(read.data)
	images := l.lookups()
	for _, m := range selected.Members {
		tag, wrong, waits := images.of(ctx, m)
		one, err := l.newMember(l.set, globals, m, tag)
		if invalidErr, set := errors.AsType[*fieldError](err); set {
			return declared{}, invalid(invalidErr)
		}
		wrong = append(append(wrong, read.schema.Check(m)...), unwritable(m, err)...)
		switch {
		case m.Idle(), m.Integration == "" && globals[domain.ExcludeService] == true:
			d.idle[one.Key] = true
		case len(wrong) > 0:
			problems, d.faulty[one.Key] = append(problems, wrong...), true
		default:
			d.members, d.waits[one.Key] = append(d.members, one), waits
		}
	}
	l.images, l.result.Stale = images.record(), l.stale
	for _, p := range problems {
		l.result.Faults = append(l.result.Faults, p.String())
	}
	return d, nil
}

// unwritable returns the problem of a member that cannot be passed on to the chart; none without an error.
func unwritable(m domain.Member, err error) []data.Problem {
	if err == nil {
		return nil
	}
	return []data.Problem{{Location: m.Location, Reason: err.Error(), Cure: "correct the entry, or the parameters of its environment"}}
}

// globals returns the values that the set has for all members.
func globals(set *v1alpha1.IntegrationSet) (all map[string]any, err error) {
	if v := set.Spec.Chart.Values; v != nil {
		if err := json.Unmarshal(v.Raw, &all); err != nil {
			return nil, fmt.Errorf("spec.chart.values: %w", err)
		}
	}
	return all, nil
}

// newMember returns what a member is stamped with; tag is that of its image, "" for none. An error that is of the set, and
// not of the member's data, is a fieldError.
func (s Settings) newMember(set *v1alpha1.IntegrationSet, globals map[string]any, m domain.Member, tag string) (member, error) {
	out := member{
		Key: integrationset.Key{Integration: m.Integration, Namespace: m.Namespace.Path}, namespace: m.Namespace.Name,
		file: m.Location.File, line: m.Location.Line, workloads: m.Workloads(), wave: wave(set.Spec.Waves, m),
		canaries: m.Canaries(set.Spec.Canaries), own: s.Self.Is(m.Integration, m.Namespace.Name),
		parameters: map[string]bundle.BundleParameter{},
	}
	values, err := m.Values(globals)
	if err != nil {
		return out, &fieldError{"spec.chart.values", err}
	}
	text, err := values.YAML()
	if err == nil {
		out.values, err = yaml.ToJSON(text)
	}
	if err != nil && m.Integration == "" { // it has the values of the set alone
		err = &fieldError{"spec.chart.values", err}
	}
	if err != nil {
		return out, err
	}
	parameters, err := m.Parameters(domain.Parameters{
		Tag: tag, Set: s.parameters(set.Spec.Chart.Parameters, out.own), Process: s.Process,
	})
	for _, p := range parameters {
		out.parameters[p.Name] = bundle.BundleParameter(p.Value)
	}
	return out, err
}

// wave returns the wave of a member. What a namespace shares comes first, and what no wave selects last.
func wave(waves []v1alpha1.IntegrationWave, m domain.Member) int {
	if m.Integration == "" {
		return 0
	}
	for i, w := range waves {
		if slices.Contains(w.Integrations, m.Integration) || len(w.MatchLabels) > 0 && has(m.Labels, w.MatchLabels) {
			return i
		}
	}
	return len(waves)
}

// has reports whether labels contain all of some others.
func has(labels, some map[string]string) bool {
	for key, value := range some {
		if is, found := labels[key]; !found || is != value {
			return false
		}
	}
	return true
}

// invalid returns the stop of a spec that does not fit the data.
func invalid(err error) *integrationset.Stop {
	return &integrationset.Stop{Reason: integrationset.InvalidSpec, Message: strings.TrimSpace(err.Error()), Person: true}
}
