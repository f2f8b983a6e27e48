package bundledeployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// forbidden is the reason of a deployment whose account may not read its own record.
const forbidden = "AccountForbidden"

// job is one turn of one deployment.
type job struct {
	*Reconciler

	deployment *v1alpha1.BundleDeployment
	world      *cluster.World
	store      *cluster.Store
	// loaded says that the record could be read: else nobody knows what is there.
	loaded bool
	// said is the deployment with the status that was written last.
	said     *v1alpha1.BundleDeployment
	engine   *bundle.Engine
	standing domain.Standing
	policy   *policy.Policy
	// told is the revision whose progress was told last, and toldAt when.
	told   int
	toldAt time.Time
}

// job returns a turn of a deployment, which acts by the deployment's account.
func (r *Reconciler) job(d *v1alpha1.BundleDeployment) (*job, error) {
	config := rest.CopyConfig(r.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: convert.Account(d)}
	world, err := cluster.As(config, r.Mapper, convert.Owner(d))
	if err != nil {
		return nil, err
	}
	world.Definitions, world.Ignores = crdify.Judge{}, convert.ToIgnores(d.Spec.Drift)
	j := &job{Reconciler: r, deployment: d, world: world, store: cluster.NewStore(world), said: d.DeepCopy()}
	j.engine = &bundle.Engine{
		Cluster: world, Store: j.store, Owner: convert.Owner(d), UID: string(d.UID), Identity: r.Identity, Now: r.Now,
		Gate:    convert.ToGate(d),
		History: int(d.Spec.HistoryLimit), NoWayBack: convert.Keeps(d.Spec.Rollback),
		Patience: convert.ToWanted(d).Deadline, Pause: r.Pause, Kept: true,
	}
	// One object's deadline ends a run, and not the sum of all.
	j.engine.Timeout = 100 * cmp.Or(j.engine.Patience, 10*time.Minute)
	return j, nil
}

// prepare checks the spec, and compiles its expressions.
func (j *job) prepare() error {
	d := j.deployment
	var rules []policy.Rule
	for _, r := range d.Spec.Approval.Policy {
		rules = append(rules, policy.Rule(r))
	}
	compiled, wrong := policy.Compile(rules)
	probes, mistaken := policy.CompileHealth(convert.ToProbes(d))
	if err := errors.Join(convert.ToWanted(d).Check(), wrong, mistaken); err != nil {
		return err
	}
	j.policy, j.world.Probes = compiled, probes
	return nil
}

// load reads the record. An account that may not do so needs a person.
func (j *job) load(ctx context.Context) *domain.Stop {
	err := j.engine.Load(ctx)
	j.loaded = err == nil
	var known map[int]face
	if err == nil {
		known, err = j.faces(ctx)
	}
	switch forged := j.forged(known); {
	case err == nil && forged > 0:
		return &domain.Stop{Reason: "RecordForged", Person: true, Message: fmt.Sprintf(
			"the stored revision %d differs from BundleRevision %s: the Secrets orcon-bundle-%s… were changed by hand: delete Secret "+
				"orcon-bundle-%[3]s to deploy the bundle anew",
			forged, convert.RevisionName(j.deployment, forged), j.deployment.Name)}
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &domain.Stop{Reason: forbidden,
			Message: fmt.Sprintf("%v: the deployment's account stores revisions in Secrets of this namespace: %s", err, j.cure()), Person: true}
	}
	return &domain.Stop{Reason: "StoreFailed", Message: err.Error()}
}

// cure is the command that gives the account its permissions.
func (j *job) cure() string {
	account := cmp.Or(j.deployment.Spec.ServiceAccountName, "default")
	return fmt.Sprintf("kubectl create rolebinding orcon-%s -n %s --clusterrole=admin --serviceaccount=%[2]s:%[3]s, or bind a role with "+
		"only the permissions that the bundle uses; if the account does not exist: kubectl create serviceaccount %[3]s -n %[2]s",
		j.deployment.Name, j.deployment.Namespace, account)
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

// firstUnready returns the stop for the first name that is not ready: ready tells it of each
// deployment that exists.
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
