package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// me is the user's name, as the API server knows it; USER where that is unknown.
func (o *clusterOptions) me(ctx context.Context) string {
	kinds, _, err := o.open()
	if err != nil {
		return "USER"
	}
	name, err := whoami(ctx, kinds)
	if err != nil {
		return "USER"
	}
	return name
}

// readable explains an error of a user who may not read the Secrets of a deployment's record:
// reading needs only get, on those of the record and of the revisions, by name.
func (o *deploymentOptions) readable(ctx context.Context, d *deployed, err error, revisions ...int) error {
	if !apierrors.IsForbidden(err) || len(revisions) > 0 && !aboutRecord(err) {
		return err
	}
	name := strings.TrimPrefix(d.Owner, d.namespace+"/")
	secrets := []string{"orcon-bundle-" + name}
	for _, revision := range revisions {
		for _, content := range d.store.Contents(revision) {
			if !slices.Contains(secrets, content) {
				secrets = append(secrets, content)
			}
		}
	}
	me := o.me(ctx)
	rules := "--verb=get --resource=secrets --resource-name=" + strings.Join(secrets, " --resource-name=")
	return fmt.Errorf("cannot read the record of %s: %s may not get its Secrets in namespace %s. An administrator of the namespace permits "+
		"that by\n%s", d.Owner, me, d.namespace, roleOf(me, d.namespace, "orcon-read-"+name, rules))
}

// roleOf returns the commands that give a user the rules of a Role. The Role and its binding are the user's own: those
// of another user, who may need other rules, stay as they are.
func roleOf(user, namespace, name, rules string) string {
	name += "-" + objectName(user)
	const apply = " --dry-run=client -o yaml | kubectl apply -f -"
	return fmt.Sprintf("kubectl create role %[1]s -n %[2]s %[3]s%[4]s\n"+
		"kubectl create rolebinding %[1]s -n %[2]s --role=%[1]s --user=%[5]s%[4]s",
		name, namespace, rules, apply, shellWord(user))
}

// aboutRecord reports whether the API server refused a Secret of a record.
func aboutRecord(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "secrets" &&
		strings.HasPrefix(status.ErrStatus.Details.Name, "orcon-bundle-")
}

// unwritable explains that the user may not keep a record: its Secrets are created, and named
// after their content.
func (o *deploymentOptions) unwritable(ctx context.Context, d *deployed) error {
	me := o.me(ctx)
	commands := roleOf(me, d.namespace, "orcon-records", "--verb=get,create,update,delete --resource=secrets")
	return fmt.Errorf("cannot read the record of %s: %s may not get Secrets in namespace %s, which hold the record. An administrator of the "+
		"namespace permits that by\n%s", d.Owner, me, d.namespace, commands)
}

// permitted explains an error of a user who lacks a permission that approving needs, with the commands
// that give all of them. Other errors, such as a refusal by an admission policy, stay as they are.
func (o *approveOptions) permitted(ctx context.Context, name string, err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsForbidden(status) || strings.Contains(status.Error(), "ValidatingAdmissionPolicy") {
		return err
	}
	_, namespace, unloaded := o.load()
	if unloaded != nil {
		return err
	}
	me := o.me(ctx)
	binding := objectName(me)
	lines := []string{fmt.Sprintf("To approve, a user reads BundleDeployment %s and the Secrets that hold its plan, whose names change with "+
		"each revision, and creates an Approval. An administrator of namespace %s permits that by", name, namespace)}
	for _, command := range []string{
		fmt.Sprintf("rolebinding orcon-approve-%s -n %s --clusterrole=orcon-bundle-approve --user=%s", binding, namespace, shellWord(me)),
		fmt.Sprintf("role orcon-approve-secrets -n %s --verb=get --resource=secrets", namespace),
		fmt.Sprintf("rolebinding orcon-approve-secrets-%s -n %s --role=orcon-approve-secrets --user=%s", binding, namespace, shellWord(me)),
	} {
		lines = append(lines, "kubectl create "+command+" --dry-run=client -o yaml | kubectl apply -f -")
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(lines, "\n"))
}

// objectName returns a user's name as a part of a binding's name, in which Kubernetes takes neither /
// nor %, and shells give other characters a meaning.
func objectName(user string) string {
	return regexp.MustCompile(`[^A-Za-z0-9.@:_-]`).ReplaceAllString(user, "-")
}

// shellWord returns a word as shells read it. The names of users come from certificates and identity providers, and may
// have blanks and quotes.
func shellWord(word string) string {
	if word != "" && !regexp.MustCompile(`[^A-Za-z0-9_@%+=:,./-]`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// withheld prints what a read-only look could not find out.
func (d *deployed) withheld(s screen) {
	all := d.world.Withheld()
	if len(all.Unread) > 0 {
		s.lacks("note: not compared, since you may not read " + listed(all.Unread))
	}
	if len(all.Estimated) > 0 {
		s.lacks(fmt.Sprintf("note: compared without a dry run, since you may not change %s: another spelling of the same value shows as a "+
			"difference", listed(all.Estimated)))
	}
	if all.Lacking != nil {
		s.lacks("note: to carry this out, " + strings.TrimPrefix(all.Lacking.Error(), "cannot plan: "))
	}
}

// listed names the first of some objects.
func listed(ids []bundle.ID) string {
	var names []string
	for _, id := range ids[:min(fewNames, len(ids))] {
		names = append(names, id.String())
	}
	if more := len(ids) - fewNames; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
