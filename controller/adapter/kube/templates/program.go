// Package templates finds what a JobWorkspace runs: a JobTemplate that names an image, or a JobTemplateVersion of one that
// is built.
//
// What must not come in: a write, and how a version is made.
package templates

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
)

// Program holds the program of a JobWorkspace. The zero value is one that is not there.
type Program struct {
	template *v1alpha1.JobTemplate
	version  *v1alpha1.JobTemplateVersion
}

// ErrUnread is wrapped where something could not be read, which says nothing about it.
var ErrUnread = errors.New("it may be there")

// MissingError tells that something is not there yet, and what helps.
type MissingError struct{ message string }

// Error returns the message.
func (e *MissingError) Error() string { return e.message }

// Find reads what a JobWorkspace runs. What is not there yet is a MissingError.
func Find(ctx context.Context, reader client.Reader, w *v1alpha1.JobWorkspace) (Program, error) {
	p := Program{template: &v1alpha1.JobTemplate{}}
	err := reader.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Spec.Template}, p.template)
	switch {
	case apierrors.IsNotFound(err):
		return Program{}, &MissingError{fmt.Sprintf(
			"there is no JobTemplate %s in namespace %s: create it, or correct spec.template of JobWorkspace %s",
			w.Spec.Template, w.Namespace, w.Name)}
	case err != nil:
		return Program{}, fmt.Errorf("cannot read JobTemplate %s/%s: %w: %w", w.Namespace, w.Spec.Template, ErrUnread, err)
	case p.template.Spec.Build != nil:
		return p.built(ctx, reader, w)
	case w.Spec.Version != "":
		return Program{}, fmt.Errorf("cannot use JobTemplate %s: it names an image and has no version %s: remove spec.version of JobWorkspace %s",
			w.Spec.Template, w.Spec.Version, w.Name)
	}
	return p, nil
}

// built adds the version of a template that is built.
func (p Program) built(ctx context.Context, reader client.Reader, w *v1alpha1.JobWorkspace) (Program, error) {
	name := w.Spec.Version
	if name == "" {
		name = p.template.Status.Version
	}
	if name == "" {
		return Program{}, &MissingError{fmt.Sprintf("JobTemplate %s has no version yet: its conditions tell why", p.template.Name)}
	}
	p.version = &v1alpha1.JobTemplateVersion{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, p.version)
	switch {
	case apierrors.IsNotFound(err):
		return Program{}, &MissingError{fmt.Sprintf(
			"there is no JobTemplateVersion %s in namespace %s: correct or remove spec.version of JobWorkspace %s", name, w.Namespace, w.Name)}
	case err != nil:
		return Program{}, fmt.Errorf("cannot read JobTemplateVersion %s: %w: %w", name, ErrUnread, err)
	case p.version.Spec.Origin.Template != p.template.Name:
		return Program{}, fmt.Errorf(
			"cannot use JobTemplateVersion %s: it is of JobTemplate %s, and JobWorkspace %s names %s: correct spec.version",
			name, p.version.Spec.Origin.Template, w.Name, p.template.Name)
	}
	return p, nil
}

// Runnable returns what Runs are frozen from. The error names everything that is wrong with it.
func (p Program) Runnable() (program.TemplateVersion, error) {
	switch {
	case p.version != nil:
		return convert.ToVersion(p.version)
	case p.template != nil:
		return convert.ToTemplate(p.template)
	}
	return program.TemplateVersion{}, errors.New("there is no program")
}

// Safety returns the safety, without a look at the rest; Exclusive for what is not there.
func (p Program) Safety() job.Safety {
	switch {
	case p.version != nil:
		return convert.ToSafety(p.version.Spec.JobProgram)
	case p.template != nil:
		return convert.ToSafety(p.template.Spec.JobProgram)
	}
	return job.Exclusive
}
