package bundledeployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// forbidden is the reason of a deployment whose account may not read its own record.
const forbidden = "AccountForbidden"

// bound is how long a reconcile begins new writes.
const bound = 5 * time.Second

// job is one reconcile of one deployment.
type job struct {
	*Reconciler

	deployment *v1alpha1.BundleDeployment
	// said is the deployment with the status that was written last.
	said   *v1alpha1.BundleDeployment
	memory *memory
	account

	standing domain.Standing
	// step is the last step of the run under way; more reports that more can be done at once.
	step bundle.Step
	more bool
	// since is when the contents were asked for that are not there yet; zero if none are.
	since time.Time
}

// account acts by the account of a deployment.
type account struct {
	world  World
	store  Store
	engine *bundle.Engine
	policy *policy.Policy
	// wrong is the error of the spec itself.
	wrong error
	// loaded reports that the record could be read.
	loaded bool
}

// job returns a reconcile of a deployment, which acts by the deployment's account.
func (r *Reconciler) job(d *v1alpha1.BundleDeployment) (*job, error) {
	j := &job{Reconciler: r, deployment: d, said: d.DeepCopy(), memory: r.memories.of(d)}
	rules, probes, wrong := compile(d)
	j.policy, j.wrong = rules, wrong
	access := Access{Account: convert.Account(d), Owner: convert.Owner(d), Ignores: convert.ToIgnores(d.Spec.Drift), Secretive: secretive(d)}
	if wrong == nil {
		access.Probes = probes
	}
	var err error
	if j.world, j.store, err = r.Connect(access); err != nil {
		return nil, err
	}
	j.engine = &bundle.Engine{
		Cluster: j.world, Store: witnessed{j.store, revisions{j}}, Owner: convert.Owner(d), UID: string(d.UID), Identity: r.Identity, Now: r.Now,
		Gate: convert.ToGate(d), History: int(d.Spec.HistoryLimit), NoWayBack: convert.Keeps(d.Spec.Rollback),
		KindChange: domain.KindChange(d.Spec.Prune.KindChange), Conflicts: domain.ConflictPolicy(d.Spec.Conflicts),
		ConfirmKinds: d.Spec.Prune.ConfirmKinds,
		LogHint:      "its log goes with its pod on the way back; spec.rollback.onFailure: Keep keeps both",
		Patience:     convert.ToWanted(d).Deadline, Kept: true, Until: r.Now().Add(bound), Cache: &j.memory.run,
		Library: library.Version(),
	}
	return j, nil
}

func (j *job) name() types.NamespacedName {
	return types.NamespacedName{Namespace: j.deployment.Namespace, Name: j.deployment.Name}
}

// secretive reports whether values of a deployment are of Secrets.
func secretive(d *v1alpha1.BundleDeployment) bool {
	return slices.ContainsFunc(d.Spec.Render.ValuesFrom, func(v v1alpha1.BundleValues) bool { return v.Kind == "Secret" })
}

// compile checks the spec, and compiles its expressions.
func compile(d *v1alpha1.BundleDeployment) (*policy.Policy, *policy.Health, error) {
	var rules []policy.Rule
	for _, r := range d.Spec.Approval.Policy {
		rules = append(rules, policy.Rule(r))
	}
	compiled, wrong := policy.Compile(rules)
	probes, mistaken := policy.CompileHealth(convert.ToProbes(d))
	return compiled, probes, errors.Join(convert.ToWanted(d).Check(), wrong, mistaken)
}

// confined returns a gate that is as strict at least as a namespace requires.
func confined(ctx context.Context, c client.Reader, gate domain.Gate, name string) (domain.Gate, error) {
	var namespace corev1.Namespace
	if err := c.Get(ctx, client.ObjectKey{Name: name}, &namespace); err != nil {
		return gate, fmt.Errorf("cannot read which approvals the namespace requires: %w", err)
	}
	return gate.Within(namespace.Annotations), nil
}

// load reads the record, and returns what stops it. An account that may not do so needs a person.
func (j *job) load(ctx context.Context) *domain.Stop {
	err := j.engine.Load(ctx)
	j.loaded = err == nil
	var known map[int]publishedRevision
	if err == nil {
		known, err = revisions{j}.published(ctx)
	}
	switch forged := (revisions{j}).forged(known); {
	case err == nil && forged > 0:
		return &domain.Stop{Reason: "RecordForged", Person: true, Message: fmt.Sprintf(
			"the stored revision %d differs from BundleRevision %s: the Secrets orcon-bundle-%s… were changed by hand: delete Secret "+
				"orcon-bundle-%[3]s to deploy the bundle anew",
			forged, convert.RevisionName(j.deployment, forged), j.deployment.Name)}
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &domain.Stop{Reason: forbidden, Message: j.refused(ctx, err), Person: true}
	}
	return &domain.Stop{Reason: "StoreFailed", Message: err.Error()}
}

// refused explains why the record may not be read, with the command that helps: the namespace does not let the
// controller act as the account, or the account lacks permissions.
func (j *job) refused(ctx context.Context, err error) string {
	account := cmp.Or(j.deployment.Spec.ServiceAccountName, "default")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "impersonate", Resource: "serviceaccounts", Namespace: j.deployment.Namespace, Name: account,
		},
	}}
	if unknown := j.Client.Create(ctx, review); unknown == nil && !review.Status.Allowed {
		return fmt.Sprintf("the bundle controller may not act as ServiceAccount %s: namespace %s has no RoleBinding to ClusterRole %s for it: "+
			"%s; the bundle controller tries again every %s", account, j.deployment.Namespace, domain.AccountRole,
			domain.LetIn(j.deployment.Namespace, j.Account), failed)
	}
	return fmt.Sprintf("%v: the deployment's account stores revisions in Secrets of this namespace: %s", err, cure(j.deployment, account))
}

// cure returns the command that gives the account its permissions.
func cure(d *v1alpha1.BundleDeployment, account string) string {
	return fmt.Sprintf("kubectl create rolebinding orcon-%s -n %s --clusterrole=admin --serviceaccount=%[2]s:%[3]s, or bind a role with "+
		"only the permissions that the bundle uses; if the account does not exist: kubectl create serviceaccount %[3]s -n %[2]s; the "+
		"bundle controller tries again every %[4]s",
		d.Name, d.Namespace, account, failed)
}

// awaitOthers returns the stop while a deployment that this one depends on is not ready.
func (j *job) awaitOthers(ctx context.Context) (*domain.Stop, error) {
	if len(j.deployment.Spec.DependsOn) == 0 {
		return nil, nil
	}
	var all v1alpha1.BundleDeploymentList
	if err := j.Client.List(ctx, &all, client.InNamespace(j.deployment.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list BundleDeployments: %w", err)
	}
	dependsOn, ready := map[string][]string{}, map[string]bool{}
	for i := range all.Items {
		d := &all.Items[i]
		dependsOn[d.Name] = d.Spec.DependsOn
		ready[d.Name] = isReady(d)
	}
	if circle := domain.Waiters(j.deployment.Name, dependsOn); circle != nil {
		return &domain.Stop{Reason: "DependencyCycle", Message: "these BundleDeployments wait for each other: " +
			strings.Join(circle, " → ") + ": remove one of them from spec.dependsOn", Person: true}, nil
	}
	return firstUnready(j.deployment.Spec.DependsOn, ready), nil
}

// firstUnready returns the stop for the first name that is not ready. Deployments that do not
// exist are not in ready.
func firstUnready(names []string, ready map[string]bool) *domain.Stop {
	for _, name := range names {
		if _, there := ready[name]; !there {
			return &domain.Stop{Reason: "DependencyMissing",
				Message: fmt.Sprintf("spec.dependsOn names BundleDeployment %s, which does not exist in this namespace", name)}
		} else if !ready[name] {
			return &domain.Stop{Reason: "DependencyNotReady",
				Message: fmt.Sprintf("waiting for BundleDeployment %s (spec.dependsOn), which is not ready yet", name)}
		}
	}
	return nil
}

// isReady reports whether a deployment of this generation is ready.
func isReady(d *v1alpha1.BundleDeployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == string(condition.Ready) {
			return c.Status == "True" && c.ObservedGeneration == d.Generation
		}
	}
	return false
}
