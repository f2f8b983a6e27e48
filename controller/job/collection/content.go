package collection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
)

// collectContents deletes the contents of templates that nothing needs.
func (c *Collector) collectContents(ctx context.Context, namespaces []string) error {
	var failed []error
	for _, namespace := range namespaces {
		if err := c.collectContentsOf(ctx, namespace); err != nil {
			failed = append(failed, fmt.Errorf("cannot delete contents of templates of namespace %s: %w", namespace, err))
		}
	}
	return errors.Join(failed...)
}

func (c *Collector) collectContentsOf(ctx context.Context, namespace string) error {
	all, err := contents.List(ctx, c.Store, namespace)
	if err != nil {
		return err
	}
	named, err := c.named(ctx, namespace)
	if err != nil {
		return err
	}
	var stored []retention.StoredContent
	for _, one := range all {
		stored = append(stored, retention.StoredContent{Digest: one.Digest, Stored: one.Stored})
	}
	gone := retention.Contents(stored, named, c.Now())
	var blobs []blob.Info
	for _, one := range all {
		if slices.Contains(gone, one.Digest) {
			blobs = append(blobs, one.Info)
		}
	}
	return c.remove(ctx, blobs)
}

// named returns the contents that objects of a namespace name: templates, their versions, and runs. The last run of a
// Workspace has what a destroy run needs (JOBS.md J18).
func (c *Collector) named(ctx context.Context, namespace string) (map[string]bool, error) {
	var templates v1alpha1.JobTemplateList
	var versions v1alpha1.JobTemplateVersionList
	var runs v1alpha1.JobRunList
	for _, list := range []client.ObjectList{&templates, &versions, &runs} {
		if err := c.Reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	named := map[string]bool{}
	for i := range templates.Items {
		if b := templates.Items[i].Spec.Build; b != nil {
			named[b.Source.Digest] = true
		}
	}
	for i := range versions.Items {
		named[versions.Items[i].Spec.Origin.Content] = true
	}
	for i := range runs.Items {
		if s := runs.Items[i].State; s != nil && s.Input != nil {
			named[s.Input.Content] = true
		}
	}
	return named, nil
}
