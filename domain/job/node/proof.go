package node

import (
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
)

// Proof holds what an agent found of the runner contract on its machine.
type Proof struct {
	// Subject names the runner and the engine that were tested.
	Subject     string
	Differences []conformance.Difference
}

// The bounds of a proof that is kept.
const (
	maxDifferences = 64
	maxWords       = 256
	maxSubject     = 512
	maxUntested    = 512
)

// NewProof returns what an agent has reported about a subject, within bounds. A report that cannot be read is a difference.
func NewProof(subject string, text []byte) *Proof {
	report, err := conformance.Parse(text)
	found := conformance.Proof{Report: report}.Differences()
	if err != nil {
		found = []conformance.Difference{{Check: "report", Found: err.Error()}}
	}
	for i, d := range found {
		found[i] = conformance.Difference{Check: bounded(d.Check, maxWords), Found: bounded(d.Found, maxWords)}
	}
	found = slices.CompactFunc(found, func(a, b conformance.Difference) bool { return a.Check == b.Check })
	return &Proof{Subject: bounded(subject, maxSubject), Differences: found[:min(len(found), maxDifferences)]}
}

// Untested returns why an agent cannot test its machine, within bounds.
func Untested(why string) string { return bounded(why, maxUntested) }

// bounded returns the beginning of a text, without half a character.
func bounded(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// unproven returns why a node has not proved that it keeps the runner contract; false if it has.
func (n Node) unproven() (Standing, bool) {
	if n.Proof == nil && n.Untested != "" {
		return Standing{Unproven, "its agent cannot test whether its machine carries out runs as the contract promises: " + n.Untested +
			": correct that, and the agent tests it within seconds"}, true
	}
	if n.Proof == nil {
		return Standing{Unproven, "its agent has not tested yet whether its machine carries out runs as the contract promises: it does so by " +
			"itself within minutes; see its log, or update an agent that is older than the controller"}, true
	}
	left := conformance.Without(n.Proof.Differences, n.Accepted...)
	if len(left) == 0 {
		return Standing{}, false
	}
	var found, flags []string
	for _, d := range left {
		found, flags = append(found, d.String()), append(flags, fmt.Sprintf("--accept %q", d.Check))
	}
	return Standing{Differing, fmt.Sprintf("its machine carries out runs otherwise than the contract promises: %s: "+
		"mend its engine, which is tested again every few minutes, or accept that: orcon job node approve %s %s",
		strings.Join(found, "; "), n.Name, strings.Join(flags, " "))}, true
}
