package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

// deploymentOptions say which deployment, and how long to wait for it.
type deploymentOptions struct {
	clusterOptions

	timeout time.Duration
	confirm []string
	// writes reports that the command changes the deployment, approves that it explains itself which
	// permissions it needs.
	writes, approves bool
}

func (o *deploymentOptions) flags(c *cobra.Command) {
	o.clusterOptions.flags(c)
	c.Flags().DurationVar(&o.timeout, "timeout", 15*time.Minute, "time limit of the work, and again of a rollback after a failure")
	c.Flags().StringArrayVar(&o.confirm, "confirm", nil, "KIND/NAME of an object whose deletion is confirmed; may be repeated")
}

// approve approves a plan with what the user confirms, if that is enough.
func (o *deploymentOptions) approve(p bundle.Plan) (bundle.Approval, error) {
	approval, err := p.Confirm(o.confirm...)
	if err == nil {
		err = p.Confirmed(approval)
	}
	return approval, err
}

// deployed is one deployment of a cluster, and what works on it.
type deployed struct {
	*engine.Engine

	world     *cluster.World
	store     *cluster.Store
	options   clusterOptions
	namespace string
	progress  *progress
}

// requestTimeout is how long the API server may take for one answer: longer than all webhooks
// that it asks in turn, so that nothing waits for ever.
const requestTimeout = time.Minute

// dialTimeout is how long the way to the API server may take. Discovery, which no context ends,
// takes no longer where nothing answers.
const dialTimeout = 10 * time.Second

// deploymentName matches the name of a deployment, which is part of the names of Secrets.
const deploymentName = `^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`

// named returns an error if nothing can be called that.
func named(name string) error {
	if name == "" {
		return errors.New("the flag --name is missing: for example --name shop")
	}
	if !regexp.MustCompile(deploymentName).MatchString(name) {
		return fmt.Errorf("cannot use name %q: use at most 52 lowercase letters, digits and dashes, for example --name shop", name)
	}
	return nil
}

// connect returns the deployment of a name, and what is stored of it.
func (o *deploymentOptions) connect(c *cobra.Command, name string) (*deployed, error) {
	if err := named(name); err != nil {
		return nil, err
	}
	config, namespace, err := o.load()
	if err != nil {
		return nil, err
	}
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell a person
	owner := namespace + "/" + name
	world, err := cluster.New(config, owner)
	if err != nil {
		return nil, err
	}
	shipped, err := policy.Shipped()
	if err != nil {
		return nil, err
	}
	world.Definitions, world.Library = crdify.Judge{}, shipped
	identity, err := world.Identity(c.Context())
	if err != nil {
		return nil, err
	}
	progress := &progress{activity: screenOf(c).activity(time.Now), tail: tails(c.Context(), config), shown: map[bundle.Log]bool{}}
	store := cluster.NewStore(world)
	d := &deployed{world: world, store: store, options: o.clusterOptions, namespace: namespace, progress: progress, Engine: &engine.Engine{
		Cluster: world, Store: store, Owner: owner, Identity: identity,
		Timeout: o.timeout, Now: time.Now, Tell: progress.tell, Library: library.Version(),
	}}
	err = d.Load(c.Context())
	switch {
	case apierrors.IsForbidden(err) && o.writes:
		return d, o.unwritable(c.Context(), d)
	case o.approves:
		return d, err
	}
	return d, o.readable(c.Context(), d, err)
}

// installed returns an error if nothing is stored; verb is the user's command.
func (d *deployed) installed(ctx context.Context, verb string) error {
	if d.Record().Last().Number > 0 {
		return nil
	}
	if elsewhere := d.options.elsewhere(ctx, d.namespace, strings.TrimPrefix(d.Owner, d.namespace+"/")); elsewhere != "" {
		return fmt.Errorf("cannot %s %s: it is not installed%s", verb, d.Owner, elsewhere)
	}
	return fmt.Errorf("cannot %s %s: nothing of that name is installed in namespace %s: orcon list shows all bundles, or kubectl "+
		"get secrets -A --field-selector type=%s",
		verb, d.Owner, d.namespace, cluster.RecordType)
}

// wish returns what a source means in the cluster.
func (d *deployed) wish(objects []bundle.Object) (engine.Wish, error) {
	placed, err := bundle.Place(objects, d.namespace, d.world.Namespaced)
	if err != nil {
		return engine.Wish{}, err
	}
	sequence, err := bundle.Order(placed)
	return engine.Wish{Sequence: sequence}, err
}

// busy notes that a revision is under way, which another process may be working on.
func (d *deployed) busy(s screen) {
	if d.Unfinished() {
		s.note(fmt.Sprintf("note: revision %d of %s is under way in another process, or was interrupted", d.Record().Begun().Number, d.Owner))
	}
}

// moved adds the command that shows what another process has done.
func (d *deployed) moved(err error) error {
	if !errors.Is(err, cluster.ErrMoved) {
		return err
	}
	return fmt.Errorf("%w: orcon history %s -n %s", err, strings.TrimPrefix(d.Owner, d.namespace+"/"), d.namespace)
}

// coded gives errors of a run their exit codes.
func coded(err error) error {
	refused, isRefused := errors.AsType[*bundle.RefusedError](err)
	_, isChanged := errors.AsType[*bundle.ChangedError](err)
	switch {
	case errors.Is(err, engine.ErrTimeout):
		return codeError{err, exitTimeout}
	case isRefused && slices.Contains([]bundle.Reason{bundle.Conflicted, bundle.Refused, bundle.InUse}, refused.Reason), isChanged, errors.Is(err, cluster.ErrMoved):
		return codeError{err, exitConflict}
	default:
		return err
	}
}
