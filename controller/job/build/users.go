package build

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

const (
	// unused is how many versions of a template are kept that nothing uses, the newest ones.
	unused = 10
	// mostUsers is how many users the status of a version names.
	mostUsers = 16
)

// attend notes who uses the versions of a template, and deletes the oldest of those that nothing uses. current is the
// version that JobWorkspaces run which name none; "" for none.
func (r *Reconciler) attend(ctx context.Context, name types.NamespacedName, current string, keep int) error {
	var versions v1alpha1.JobTemplateVersionList
	ours := client.MatchingLabels{v1alpha1.LabelTemplate: name.Name}
	if err := r.Client.List(ctx, &versions, client.InNamespace(name.Namespace), ours); err != nil {
		return fmt.Errorf("cannot list the JobTemplateVersions: %w", err)
	}
	if len(versions.Items) == 0 {
		return nil
	}
	users, err := r.users(ctx, name, current)
	if err != nil {
		return err
	}
	slices.SortFunc(versions.Items, func(a, b v1alpha1.JobTemplateVersion) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range versions.Items {
		v := &versions.Items[i]
		if err := r.note(ctx, v, users[v.Name]); err != nil {
			return err
		}
		if len(users[v.Name]) > 0 {
			continue
		}
		if keep--; keep < 0 {
			if err := r.Client.Delete(ctx, v); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("cannot delete JobTemplateVersion %s: %w", v.Name, err)
			}
		}
	}
	return nil
}

// users returns the users of each version of a template, sorted.
func (r *Reconciler) users(ctx context.Context, name types.NamespacedName, current string) (map[string][]string, error) {
	var workspaces v1alpha1.JobWorkspaceList
	if err := r.Client.List(ctx, &workspaces, client.InNamespace(name.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the JobWorkspaces: %w", err)
	}
	users := map[string][]string{}
	if current != "" {
		users[current] = []string{"jobtemplate/" + name.Name}
	}
	for i := range workspaces.Items {
		w := &workspaces.Items[i]
		if version := cmp.Or(w.Spec.Version, current); w.Spec.Template == name.Name && version != "" {
			users[version] = append(users[version], "jobworkspace/"+w.Name)
		}
	}
	for version, all := range users {
		slices.Sort(all)
		users[version] = all[:min(len(all), mostUsers)]
	}
	return users, nil
}

// note writes the users of a version, if they have changed.
func (r *Reconciler) note(ctx context.Context, v *v1alpha1.JobTemplateVersion, users []string) error {
	if slices.Equal(v.Status.Users, users) {
		return nil
	}
	before := v.DeepCopy()
	v.Status.Users = users
	if err := r.Client.Status().Patch(ctx, v, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot note the users of JobTemplateVersion %s: %w", v.Name, err)
	}
	return nil
}
