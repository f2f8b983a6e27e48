package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// fleetLive is the cluster of an IntegrationSet, which a plan is compared with.
type fleetLive struct {
	set *v1alpha1.IntegrationSet
	// members are those of the set in the cluster, by name.
	members map[string]*bundlev1alpha1.BundleDeployment
	// user and account are the configurations of the user and of the set's account.
	user, account *rest.Config
	// denied explains why the user cannot act as the account; "" if that is possible.
	denied string
	mapper meta.RESTMapper
	// identity tells the cluster from others.
	identity string
	// records are the permissions on records that the account lacks.
	records []bundle.Permission
}

// cluster returns the cluster that --live is about, whose set counts where the flags leave something open; nil without
// the flag.
func (o *fleetPlanOptions) cluster(ctx context.Context) (*fleetLive, error) {
	if !o.live {
		return nil, nil //nolint:nilnil // the plan needs none
	}
	l, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	return l, o.follow(l.set)
}

// connect returns the cluster that the set named by --name is in.
func (o *fleetPlanOptions) connect(ctx context.Context) (*fleetLive, error) {
	kinds, namespace, err := o.open()
	if err != nil {
		return nil, err
	}
	config, _, err := o.load()
	if err != nil {
		return nil, err
	}
	config.Dial = nil // members share connections only without a dialer of their own
	l := &fleetLive{set: &v1alpha1.IntegrationSet{}, user: config, account: rest.CopyConfig(config), mapper: kinds.RESTMapper()}
	if err := kinds.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.Name}, l.set); err != nil {
		return nil, noSet(namespace, o.Name, err)
	}
	if l.members, err = membersOf(ctx, kinds, l.set); err != nil {
		return nil, err
	}
	l.account.Impersonate = rest.ImpersonationConfig{UserName: l.accountName()}
	return l, l.ask(ctx, o.me(ctx))
}

// noSet explains why a set cannot be read, and what helps.
func noSet(namespace, name string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("cannot plan for IntegrationSet %s/%s: there is none of that name: name it with --name and -n (orcon fleet "+
			"status -A lists all), or create it with spec.paused: true, so that it changes nothing", namespace, name)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("cannot plan for IntegrationSet %s/%s: this cluster has no IntegrationSets: install the bundle controller, %s, "+
			"or choose another cluster with --context", namespace, name, installBundles)
	}
	return unreadable(namespace, err)
}

// membersOf returns the members of a set by name.
func membersOf(
	ctx context.Context, kinds client.Client, set *v1alpha1.IntegrationSet,
) (map[string]*bundlev1alpha1.BundleDeployment, error) {
	var list bundlev1alpha1.BundleDeploymentList
	if err := kinds.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingLabels{v1alpha1.SetLabel: set.Name}); err != nil {
		return nil, unreadable(set.Namespace, err)
	}
	all := map[string]*bundlev1alpha1.BundleDeployment{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all, nil
}

// accountName returns the user name of the set's account.
func (l *fleetLive) accountName() string {
	return convert.Account(&bundlev1alpha1.BundleDeployment{
		ObjectMeta: l.set.ObjectMeta, Spec: bundlev1alpha1.BundleDeploymentSpec{ServiceAccountName: l.set.Spec.ServiceAccountName},
	})
}

// ask finds out which cluster this is, whether the user, me, may act as the account, and whether the account may keep
// records.
func (l *fleetLive) ask(ctx context.Context, me string) error {
	user, err := l.world(l.user, "")
	if err != nil {
		return err
	}
	if l.identity, err = user.Identity(ctx); err != nil {
		return err
	}
	act := bundle.Permission{Verb: "impersonate", Resource: "serviceaccounts", Namespace: l.set.Namespace}
	acts, err := user.May(ctx, act, cmp.Or(l.set.Spec.ServiceAccountName, "default"))
	if err != nil {
		return err
	}
	if !acts {
		l.denied = fmt.Sprintf("permissions of %s are unverified, and your own count: you may not act as it: kubectl create rolebinding "+
			"orcon-act-%s -n %s --clusterrole=%s --user=%s", l.accountName(), objectName(me), l.set.Namespace, bundle.AccountRole, shellWord(me))
		return nil
	}
	return l.askRecords(ctx)
}

// askRecords finds out which permissions on its records the account lacks.
func (l *fleetLive) askRecords(ctx context.Context) error {
	world, err := l.world(l.account, "")
	if err != nil {
		return err
	}
	for _, verb := range []string{"get", "create", "update", "delete"} {
		need := bundle.Permission{Verb: verb, Resource: "secrets", Namespace: l.set.Namespace}
		may, err := world.May(ctx, need, "")
		if err != nil {
			return err
		}
		if !may {
			l.records = append(l.records, need)
		}
	}
	return nil
}

// world returns the cluster as a user sees it, for a member.
func (l *fleetLive) world(as *rest.Config, member string) (*cluster.World, error) {
	w, err := cluster.As(as, l.mapper, l.set.Namespace+"/"+member)
	if err == nil {
		w.Definitions = crdify.Judge{}
	}
	return w, err
}

// version returns the members in the cluster. Nothing of them is rendered.
func (l *fleetLive) version() fleetVersion {
	v := fleetVersion{source: "the cluster"}
	environment := data.Environment{Name: strings.Join(l.set.Spec.Environments, " or ")} // members do not name theirs
	for _, d := range l.members {
		line, _ := strconv.Atoi(d.Annotations[v1alpha1.LineKey]) // for people
		v.members = append(v.members, fleetMember{Member: fleet.Member{
			Integration: d.Annotations[v1alpha1.IntegrationKey],
			Namespace:   data.Namespace{Path: d.Annotations[v1alpha1.NamespaceKey], Name: d.Spec.Render.InstallNamespace, Environment: environment},
			Location:    data.Location{File: d.Annotations[v1alpha1.FileKey], Line: line},
		}})
	}
	return v
}

// deployment returns a member in the cluster; nil if there is none.
func (l *fleetLive) deployment(m *fleetMember) *bundlev1alpha1.BundleDeployment {
	return l.members[l.name(m)]
}

// name returns the name of a member in the cluster.
func (l *fleetLive) name(m *fleetMember) string {
	return integrationset.Name(l.set.Name, keyOf(m.Member))
}

// setOptions holds the values and parameters that a set has for all members.
type setOptions struct {
	globals    map[string]any
	parameters map[string]string
	images     fleet.Images
	// commits are those that the set has found, by the reference of their ref.
	commits map[string]string
}

// build takes from a set the commits that images are built from.
func (o *setOptions) build(set *v1alpha1.IntegrationSet) {
	if t := set.Spec.Chart.ImageTag; t != nil {
		o.images = fleet.Images{Refs: t.Refs, Digits: int(t.Digits)}
	}
	o.commits = map[string]string{}
	for _, one := range set.Status.Images {
		o.commits[one.Reference] = one.Commit
	}
}

// follow takes from a set what the flags leave open.
func (o *fleetOptions) follow(set *v1alpha1.IntegrationSet) error {
	spec := set.Spec
	if spec.Chart.Values != nil {
		if err := json.Unmarshal(spec.Chart.Values.Raw, &o.set.globals); err != nil {
			return fmt.Errorf("cannot use spec.chart.values of IntegrationSet %s/%s: %w", set.Namespace, set.Name, err)
		}
	}
	o.set.parameters = spec.Chart.Parameters
	o.set.build(set)
	if o.Format == "" {
		o.Format = spec.Chart.Format
	}
	f := &o.filter
	if f.Cluster == "" {
		f.Cluster = spec.Cluster
	}
	if len(f.Environments) == 0 && !slices.Contains(spec.Environments, "All") {
		f.Environments = spec.Environments
	}
	if f.Upstream == "" {
		f.Upstream = spec.Upstream
	}
	if len(f.Integrations) == 0 {
		f.Integrations = spec.Integrations
	}
	return nil
}
