package conformance

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
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
	// Found describes what is not as it must be; it is not compared.
	Found string `json:"found,omitempty"`
}

// golden is the report of an executor that keeps the contract.
//
//go:embed report.json
var golden []byte

// Golden returns the report of an executor that keeps the contract.
func Golden() Report {
	r, err := Parse(golden)
	if err != nil {
		return Report{} // a test reads it
	}
	return r
}

// Add returns the report with the result of a check.
func (r Report) Add(name string, err error) Report {
	c := Check{Name: name, Passed: err == nil}
	if err != nil {
		c.Found = err.Error()
	}
	r.Checks = append(slices.Clone(r.Checks), c)
	slices.SortFunc(r.Checks, func(a, b Check) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// maxReport is the size of the largest report that is read, in bytes.
const maxReport = 64 << 10

// Parse reads a report.
func Parse(text []byte) (Report, error) {
	var r Report
	err := json.Unmarshal(text, &r)
	if len(text) > maxReport {
		err = errors.New("it is too large")
	}
	if err != nil {
		return Report{}, fmt.Errorf("cannot read the report: %w", err)
	}
	return r, nil
}

// Difference is a check whose result is not that of the golden report.
type Difference struct {
	Check, Found string
}

// String returns the difference in one line.
func (d Difference) String() string { return d.Check + ": " + d.Found }

// contractCheck names the difference between versions of the contract.
const contractCheck = "contract"

// Differences returns how a report differs from another one, sorted by the names of checks.
func Differences(golden, got Report) (all []Difference) {
	if golden.Contract != got.Contract {
		all = append(all, Difference{contractCheck, fmt.Sprintf("it is %q instead of %q", got.Contract, golden.Contract)})
	}
	found := map[string]Check{}
	for _, c := range got.Checks {
		found[c.Name] = c
	}
	for _, want := range golden.Checks {
		c, there := found[want.Name]
		delete(found, want.Name)
		switch {
		case !there:
			all = append(all, Difference{want.Name, "it was not checked"})
		case c.Passed != want.Passed:
			all = append(all, Difference{want.Name, cmp.Or(c.Found, "it passed")})
		}
	}
	for name := range found {
		all = append(all, Difference{name, "the golden report does not have it"})
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Check, b.Check) })
	return all
}

// Without returns the differences whose checks are not accepted.
func Without(all []Difference, accepted ...string) []Difference {
	return slices.DeleteFunc(slices.Clone(all), func(d Difference) bool { return slices.Contains(accepted, d.Check) })
}
