package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

func newJob() *cobra.Command {
	c := &cobra.Command{
		Use:   "job",
		Short: "Run templates with a state that is kept, and decide about runs that are lost",
		Long: `job runs the actions of a JobWorkspace, one run at a time, with a state that is kept between runs. It shows
runs and their logs, also long after their pods are gone, and the states; and it carries out what the controller
leaves to persons: what becomes of a run that is lost, and which state counts.

A JobWorkspace or JobRun is named NAME, in the namespace of -n, or NAMESPACE/NAME, as messages name it.`,
		Example: `  orcon job run web --action deploy --follow -n shop
  orcon job runs web -n shop
  orcon job logs web-x7k2p -n shop
  orcon job unlock web -n shop --because "node n3 is switched off"`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newJobRun(), newJobRuns(), newJobLogs(), newJobCancel(), newJobPlan(), newJobApprove(),
		newJobUnlock(), newJobState(), newJobTemplate(), newJobNode())
	return c
}

// jobOptions are the flags of commands about one JobWorkspace or JobRun.
type jobOptions struct{ clusterOptions }

// jobTarget is the object of a command, and what reads and changes it.
type jobTarget struct {
	kinds           client.Client
	config          *rest.Config
	namespace, name string
}

// find returns the object that an argument names.
func (o *jobOptions) find(argument string) (jobTarget, error) {
	namespace, name, both := strings.Cut(argument, "/")
	if !both {
		namespace, name = o.namespace, argument
	}
	if both && o.namespace != "" && o.namespace != namespace {
		return jobTarget{}, fmt.Errorf("%q is not in namespace %s: leave -n out", argument, o.namespace)
	}
	if name == "" || both && namespace == "" || strings.Contains(name, "/") {
		return jobTarget{}, fmt.Errorf("%q is not a name: write NAME or NAMESPACE/NAME", argument)
	}
	o.namespace = namespace
	return o.target(name)
}

// target returns an object of the namespace of the command.
func (o *jobOptions) target(name string) (jobTarget, error) {
	kinds, namespace, err := o.open()
	if err != nil {
		return jobTarget{}, err
	}
	config, _, err := o.load()
	return jobTarget{kinds, config, namespace, name}, err
}

// key returns the name of the object.
func (t jobTarget) key() client.ObjectKey {
	return client.ObjectKey{Namespace: t.namespace, Name: t.name}
}

// String returns the name of the object for messages.
func (t jobTarget) String() string { return t.namespace + "/" + t.name }

// errNoJobs is the error of a cluster that has no kinds of runs.
var errNoJobs = errors.New("the cluster has no JobWorkspaces: the job controller of Orcon is not installed")

// workspace reads the JobWorkspace.
func (t jobTarget) workspace(c *cobra.Command) (*v1alpha1.JobWorkspace, error) {
	var w v1alpha1.JobWorkspace
	return &w, t.read(c, "JobWorkspace", "kubectl get jobworkspaces -A lists those that there are", &w)
}

// run reads the JobRun.
func (t jobTarget) run(c *cobra.Command) (*v1alpha1.JobRun, error) {
	var r v1alpha1.JobRun
	return &r, t.read(c, "JobRun", "orcon job runs -n "+t.namespace+" lists those that there are", &r)
}

func (t jobTarget) read(c *cobra.Command, kind, cure string, into client.Object) error {
	err := t.kinds.Get(c.Context(), t.key(), into)
	switch {
	case meta.IsNoMatchError(err):
		return errNoJobs
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s %s: %s", kind, t, cure)
	case err != nil:
		return fmt.Errorf("cannot read %s %s: %w", kind, t, err)
	}
	return nil
}

// request begins a request of the people's API about the object; one that lasts has no time limit.
func (t jobTarget) request(verb, resource, subresource string, lasts bool) (*rest.Request, error) {
	config := rest.CopyConfig(t.config)
	if lasts {
		config.Timeout = 0
	}
	return peopleRequest(config, verb, people.Path(t.namespace, resource, t.name, subresource))
}

// peopleRequest begins a request of the people's API.
func peopleRequest(config *rest.Config, verb, path string) (*rest.Request, error) {
	config = rest.CopyConfig(config)
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, v1alpha1.GroupVersion)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	api, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return api.Verb(verb).AbsPath(path), nil
}

// answer reads the answer of the people's API.
func answer(got rest.Result, into any) error {
	if err := got.Error(); err != nil {
		return ofJobs(err)
	}
	text, err := got.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// ofJobs adds what helps to an error of the people's API, whose own messages have it.
func ofJobs(err error) error {
	_, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil || !answered:
		return err
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return fmt.Errorf("the cluster does not serve %s/%s: the job controller of Orcon is not installed, or its APIService is missing",
			people.Group, people.Version)
	case apierrors.IsServiceUnavailable(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return fmt.Errorf("the job controller is starting, or the cluster does not reach it: try again; if it lasts, look at APIService %s.%s, "+
			"which tells why: %w", people.Version, people.Group, err)
	case apierrors.IsServiceUnavailable(err):
		return fmt.Errorf("%w: if it lasts, look at APIService %s.%s: it tells whether the job controller answers",
			err, people.Version, people.Group)
	}
	return err
}
