package schema

// Problem is one thing wrong with an interface's document, told so that its
// author can mend it.
type Problem struct { //nolint:errname // a problem of a document, sometimes returned as an error
	// Path leads to the place: names separated by '/', empty for all of it.
	Path string
	// Reason says why it is wrong.
	Reason string
	// Cure says what to write instead; may be empty.
	Cure string
}

// Error returns the problem as one sentence, for example
//
//	provider/application/ready: no field "pasword"; declare it in the schema
func (p Problem) Error() string { return sentence(p.Path, p.Reason, p.Cure) }

// Violation is one thing in which a bag does not fit its interface, or a newer
// interface the older one. It never holds a value of a bag.
type Violation struct { //nolint:errname // a violation in a bag, sometimes returned as an error
	// Path leads to the place: the field and, inside JSON, names and indexes,
	// separated by '/'; empty for all of it.
	Path string
	// Reason says why it does not fit.
	Reason string
	// Expected says what would; may be empty.
	Expected string
	// Schema is the JSON pointer, in the schema of the bag, to what was not
	// fulfilled (RELATIONS.md P4); empty where no schema says it.
	Schema string
	// Secret is set where a secret's plain text stands in place of a reference
	// (RELATIONS.md P5).
	Secret bool
}

// Error returns the violation as one sentence.
func (v Violation) Error() string {
	if v.Expected == "" {
		return sentence(v.Path, v.Reason, "")
	}
	return sentence(v.Path, v.Reason, "expected "+v.Expected)
}

func sentence(path, reason, advice string) string {
	if path != "" {
		reason = path + ": " + reason
	}
	if advice != "" {
		reason += "; " + advice
	}
	return reason
}
