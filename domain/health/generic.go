package health

// generic weighs evidence: what speaks against an object counts more than what speaks for it
// (CONTENT.md H3).
func generic(evidence []Evidence) Verdict {
	const rule = "the generic rule"
	for _, weight := range []struct {
		class Class
		state State
	}{{Failure, Failing}, {Pause, Suspended}, {Negative, InProgress}} {
		if e, found := first(evidence, weight.class); found {
			return Verdict{State: weight.state, Says: e.Says, Rule: rule}
		}
	}
	if _, found := first(evidence, Positive); found {
		return Verdict{State: Ready, Rule: rule}
	}
	return Verdict{State: Unknown, Says: "reports nothing that Orcon understands as its health", Rule: rule, Silent: true}
}

// first returns the evidence of a class that explains most: a condition, or else the first.
func first(evidence []Evidence, class Class) (Evidence, bool) {
	best, found := Evidence{}, false
	for _, e := range evidence {
		if e.Class == class && (!found || e.summary && !best.summary) {
			best, found = e, true
		}
	}
	return best, found
}
