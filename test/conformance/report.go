package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Report is the result of all checks, sorted by name.
type Report struct {
	// Contract is the version of the contract.
	Contract string  `json:"contract"`
	Checks   []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	// Found says what is not as it must be; it is not compared.
	Found string `json:"found,omitempty"`
}

// add adds the result of a check.
func (r *Report) add(name string, err error) {
	c := Check{Name: name, Passed: err == nil}
	if err != nil {
		c.Found = err.Error()
	}
	r.Checks = append(r.Checks, c)
	slices.SortFunc(r.Checks, func(a, b Check) int { return cmp.Compare(a.Name, b.Name) })
}

// Parse reads a report.
func Parse(text []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, fmt.Errorf("cannot read the report: %w", err)
	}
	return r, nil
}

// Differences returns how a report differs from the golden one, by names of checks. Those that are allowed must fail,
// so that a list of them stays true.
func Differences(golden, got Report, allowed ...string) []string {
	var all []string
	if golden.Contract != got.Contract {
		all = append(all, fmt.Sprintf("contract %q instead of %q", got.Contract, golden.Contract))
	}
	found := map[string]Check{}
	for _, c := range got.Checks {
		found[c.Name] = c
	}
	for _, want := range golden.Checks {
		c, there := found[want.Name]
		delete(found, want.Name)
		switch may := slices.Contains(allowed, want.Name); {
		case !there:
			all = append(all, want.Name+": it was not checked")
		case may && c.Passed == want.Passed:
			all = append(all, want.Name+": it is as it must be: allow it no longer")
		case !may && c.Passed != want.Passed:
			all = append(all, want.Name+": "+c.Found)
		}
	}
	for name := range found {
		all = append(all, name+": the golden report does not have it")
	}
	slices.Sort(all)
	return all
}
