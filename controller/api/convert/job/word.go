package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// safeties maps levels of safety; unset is Exclusive.
//
//nolint:gochecknoglobals // a table
var safeties = map[v1alpha1.JobSafety]job.Safety{
	"": "", v1alpha1.SafetyReadOnly: job.ReadOnly, v1alpha1.SafetyIdempotent: job.Idempotent, v1alpha1.SafetyExclusive: job.Exclusive,
}

// types maps types of templates.
//
//nolint:gochecknoglobals // a table
var types = map[v1alpha1.JobToolType]tooltype.Type{
	"": tooltype.Plain, v1alpha1.TypeOpenTofu: tooltype.OpenTofu, v1alpha1.TypeAnsible: tooltype.Ansible,
}

// modes maps how content reaches runs; unset is an image of each version.
//
//nolint:gochecknoglobals // a table
var modes = map[v1alpha1.JobTypeMode]template.Mode{
	"": template.InImage, v1alpha1.ModeImage: template.InImage, v1alpha1.ModeAdHoc: template.AdHoc,
}

// outcomes maps outcomes; unset is none yet.
//
//nolint:gochecknoglobals // a table
var outcomes = map[v1alpha1.JobOutcome]job.Outcome{
	"": "", v1alpha1.OutcomeNone: job.None, v1alpha1.OutcomeUnchanged: job.Unchanged, v1alpha1.OutcomeCommitted: job.Committed,
	v1alpha1.OutcomeOrphaned: job.Orphaned, v1alpha1.OutcomeFailed: job.Failed, v1alpha1.OutcomeUnknown: job.Unknown,
}

// toWord returns the domain's word for that of a field.
func toWord[A, D ~string](field string, word A, table map[A]D) (D, error) {
	known, ok := table[word]
	if ok {
		return known, nil
	}
	var words []string
	for _, w := range slices.Sorted(maps.Keys(table)) {
		if w != "" {
			words = append(words, string(w))
		}
	}
	cure := "use one of " + strings.Join(words, ", ")
	if near := spelling.Nearest(string(word), words); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	return "", fmt.Errorf("%s: value %q is unknown: %s", field, word, cure)
}

// forWord returns the API's word for that of the domain.
func forWord[A, D ~string](word D, table map[A]D) A {
	for a, d := range table {
		if d == word {
			return a
		}
	}
	return A(word)
}
