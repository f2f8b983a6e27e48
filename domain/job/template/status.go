package template

import (
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The reasons of a template that is built.
const (
	reasonBuilt    = "Built"
	reasonBuilding = "Building"
	reasonFailed   = "BuildFailed"
)

// The steps of a build that can fail; errors wrap the step that did. An error of no step is that of a build.
var (
	// ErrType is wrapped where the type is not there.
	ErrType = errors.New("the type is missing")
	// ErrSource is wrapped where the content cannot be fetched.
	ErrSource = errors.New("the content is not available")
	// ErrRefused is wrapped where type, template and content do not fit.
	ErrRefused = errors.New("the template cannot be used")
)

// steps are the reasons of the steps.
//
//nolint:gochecknoglobals // a table
var steps = map[error]string{ErrType: "TypeMissing", ErrSource: "SourceFailed", ErrRefused: "Refused"}

// Built returns the conditions of a template whose version is that of its spec.
func Built(version string) []condition.Condition {
	return condition.Settled(reasonBuilt, fmt.Sprintf("version %s is current", version))
}

// Building returns the conditions of a template whose spec is new.
func Building() []condition.Condition {
	return condition.Waiting(reasonBuilding, "its content is fetched and built")
}

// Failed returns the conditions of a template that cannot be built as it is. version is the last one that could be; "" for
// none.
func Failed(err error, version string) []condition.Condition {
	reason := reasonFailed
	for step, word := range steps {
		if errors.Is(err, step) {
			reason = word
		}
	}
	if version != "" {
		err = fmt.Errorf("%w; version %s stays current", err, version)
	}
	return condition.Stuck(reason, err.Error())
}

// Meanings returns every reason that a template shows while it is built.
func Meanings() []condition.Meaning {
	return []condition.Meaning{
		{Type: condition.Ready, Reason: reasonBuilt, Means: "its version is that of its spec", Cure: "nothing to do"},
		{Type: condition.Reconciling, Reason: reasonBuilding, Means: "its content is fetched, and its image is built and pushed", Cure: "wait"},
		{Type: condition.Stalled, Reason: steps[ErrType], Means: "its JobTemplateType is not there",
			Cure: "create what the message names, or correct spec.build.type"},
		{Type: condition.Stalled, Reason: steps[ErrSource], Means: "its content cannot be fetched, or was not pushed yet",
			Cure: "do as the message advises: it is tried again each minute"},
		{Type: condition.Stalled, Reason: steps[ErrRefused], Means: "type, template and content do not fit",
			Cure: "correct what the message names"},
		{Type: condition.Stalled, Reason: reasonFailed, Means: "its image cannot be built or pushed",
			Cure: "see that the controller may read the type's image and push to the registry: it is tried again each minute"},
	}
}
