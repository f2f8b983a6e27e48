package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	return fmt.Errorf(`cannot read the record of %[1]s: %[2]s may not get its Secrets in namespace %[3]s. An administrator of the namespace permits that by
kubectl create role orcon-read-%[4]s -n %[3]s --verb=get --resource=secrets --resource-name=%[5]s --dry-run=client -o yaml | kubectl apply -f -
kubectl create rolebinding orcon-read-%[4]s -n %[3]s --role=orcon-read-%[4]s --user=%[2]s --dry-run=client -o yaml | kubectl apply -f -`,
		d.Owner, me, d.namespace, name, strings.Join(secrets, " --resource-name="))
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
	return fmt.Errorf(`cannot read the record of %[1]s: %[2]s may not get Secrets in namespace %[3]s, which hold the record. An administrator of the namespace permits that by
kubectl create role orcon-records -n %[3]s --verb=get,create,update,delete --resource=secrets
kubectl create rolebinding orcon-records -n %[3]s --role=orcon-records --user=%[2]s`, d.Owner, o.me(ctx), d.namespace)
}

// withheld prints what a read-only look could not find out.
func (d *deployed) withheld(out io.Writer) {
	all := d.world.Withheld()
	if len(all.Unread) > 0 {
		fmt.Fprintf(out, "note: not compared, since you may not read %s\n", listed(all.Unread))
	}
	if len(all.Estimated) > 0 {
		fmt.Fprintf(out, "note: compared without a dry run, since you may not change %s: another spelling of the same value shows as a "+
			"difference\n", listed(all.Estimated))
	}
	if all.Lacking != nil {
		fmt.Fprintf(out, "note: to carry this out, %s\n", strings.TrimPrefix(all.Lacking.Error(), "cannot plan: "))
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
