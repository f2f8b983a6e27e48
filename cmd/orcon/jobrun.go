package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/templates"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	gates "gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// jobRunOptions are the flags of job run.
type jobRunOptions struct {
	jobOptions

	action  string
	set     []string
	follow  bool
	timeout time.Duration
	// template and workspace name the JobWorkspace that is created if it is not there.
	template, workspace string
}

func newJobRun() *cobra.Command {
	var o jobRunOptions
	c := &cobra.Command{
		Use:   "run [WORKSPACE] --action ACTION",
		Short: "Start a run of a JobWorkspace, and with --follow show it to its end",
		Long: `job run creates a JobRun. It starts when the lock of the JobWorkspace is free. Action and parameters are compared with
the JobTemplate before.

--template T --name W, in place of WORKSPACE, creates JobWorkspace W with JobTemplate T first. One that exists with that
template is used as it is.

--set NAME=VALUE changes spec.parameters of the JobWorkspace first, for this run and all later ones: a JobRun has no
parameters of its own. VALUE is JSON, such as 3, true or '["a","b"]', or else a text; '"3"' is a text of one digit.
NAME= alone removes the parameter.

--follow prints what the run is doing to standard error, and its log to standard output. The exit code is then that of
the run. An interrupt ends the command; the run goes on.

It needs permission to read JobTemplates, to read JobWorkspaces, create them for --template and patch them for --set, and
to create JobRuns, which the cluster role edit has.

Exit codes: 0 created, or with --follow succeeded, 2 the command failed, 130 interrupted. With --follow also 1 to 63, the
code of the program, and 1 if the run ended otherwise (cancelled, timed out, lost, rejected). 2 is the program's unless
standard error has a line that begins with "orcon:".`,
		Example: `  orcon job run web --action deploy -n shop
  orcon job run web --action deploy --follow -n shop
  orcon job run web --action deploy --set replicas=3 --set region=eu -n shop
  orcon job run --template tofu --name web --action deploy --set region=eu --follow -n shop
  orcon job run web --action check --timeout 10m --follow -n shop > check.log`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, strings.Join(args, "")) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("JobWorkspace")
	c.Flags().StringVar(&o.template, "template", "", "JobTemplate of the JobWorkspace that --name creates")
	c.Flags().StringVar(&o.workspace, "name", "", "name of the JobWorkspace that is created with --template")
	c.Flags().StringVar(&o.action, "action", "", "action of the template, such as deploy (required)")
	c.Flags().StringArrayVar(&o.set, "set", nil, "NAME=VALUE of a parameter, for this and later runs; may be repeated")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "show progress and log, and exit with the code of the run")
	c.Flags().DurationVar(&o.timeout, "timeout", 0, "how long the run may take before it is stopped, at least 1s (default: no limit)")
	return c
}

func (o *jobRunOptions) run(c *cobra.Command, name string) error {
	if o.timeout < 0 || o.timeout > 0 && o.timeout < time.Second {
		return errors.New("cannot run: --timeout must be at least 1s")
	}
	named, err := o.named(name)
	if err != nil {
		return err
	}
	target, err := o.find(named)
	if err != nil {
		return err
	}
	// Orcon writes to JobWorkspaces too.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return o.prepare(c, target) }); err != nil {
		return err
	}
	run := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: target.namespace, GenerateName: target.name + "-"},
		Spec:       v1alpha1.JobRunSpec{Workspace: target.name, Action: o.action},
	}
	if o.timeout > 0 {
		run.Spec.Timeout = &metav1.Duration{Duration: o.timeout}
	}
	if err := target.kinds.Create(c.Context(), run); err != nil {
		return fmt.Errorf("cannot run %s of JobWorkspace %s: %w", o.action, target, err)
	}
	if !o.follow {
		_, err = fmt.Fprintf(c.OutOrStdout(), "JobRun %s/%s is created: orcon job logs %[2]s -n %[1]s -f\n", run.Namespace, run.Name)
		return err
	}
	target.name = run.Name
	return followRun(c, target)
}

// named returns the name of the JobWorkspace, which stands in the arguments or in --name.
func (o *jobRunOptions) named(argument string) (string, error) {
	switch {
	case (o.template == "") != (o.workspace == ""):
		return "", errors.New("--template and --name go together: the first names the JobTemplate, the second the JobWorkspace that is created")
	case argument != "" && o.workspace != "":
		return "", fmt.Errorf("cannot use %q with --template and --name: leave one of the two out", argument)
	case argument == "" && o.workspace == "":
		return "", errors.New("WORKSPACE is missing: example: orcon job run web --action deploy -n shop, or use --template and --name")
	}
	return argument + o.workspace, nil
}

// subject returns the JobWorkspace of the run. One of --template that is not there is made, but not stored.
func (o *jobRunOptions) subject(c *cobra.Command, target jobTarget) (*v1alpha1.JobWorkspace, error) {
	if o.template == "" {
		return target.workspace(c)
	}
	var w v1alpha1.JobWorkspace
	err := target.kinds.Get(c.Context(), target.key(), &w)
	switch {
	case apierrors.IsNotFound(err):
		return &v1alpha1.JobWorkspace{
			ObjectMeta: metav1.ObjectMeta{Namespace: target.namespace, Name: target.name}, Spec: v1alpha1.JobWorkspaceSpec{Template: o.template},
		}, nil
	case err != nil:
		return target.workspace(c)
	case w.Spec.Template != o.template:
		return nil, fmt.Errorf("JobWorkspace %s is there with template %s, not %s: choose another --name, or run it without --template",
			target, w.Spec.Template, o.template)
	}
	return &w, nil
}

// store stores the JobWorkspace with its parameters, if it is new or if they are set.
func (o *jobRunOptions) store(c *cobra.Command, target jobTarget, w *v1alpha1.JobWorkspace, parameters map[string]any) error {
	before := w.DeepCopy()
	if len(o.set) > 0 {
		raw, err := json.Marshal(parameters)
		if err != nil {
			return fmt.Errorf("cannot write the parameters: %w", err)
		}
		w.Spec.Parameters = &runtime.RawExtension{Raw: raw}
	}
	if w.UID == "" {
		if err := target.kinds.Create(c.Context(), w); err != nil {
			return fmt.Errorf("cannot create JobWorkspace %s: %w", target, err)
		}
		screenOf(c).note(fmt.Sprintf("JobWorkspace %s is created", target))
		return nil
	}
	if len(o.set) == 0 {
		return nil
	}
	if err := target.kinds.Patch(c.Context(), w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("cannot set the parameters of JobWorkspace %s: %w", target, err)
	}
	return nil
}

// prepare checks action and parameters, and stores what is new of the JobWorkspace.
func (o *jobRunOptions) prepare(c *cobra.Command, target jobTarget) error {
	w, err := o.subject(c, target)
	if err != nil {
		return err
	}
	program, err := templates.Find(c.Context(), target.kinds, w)
	if _, missing := errors.AsType[*templates.MissingError](err); missing && o.template != "" {
		return fmt.Errorf("cannot make JobWorkspace %s: JobTemplate %s/%s does not exist, or has no version yet: "+
			"orcon job template list -n %[2]s lists those that there are", target, target.namespace, o.template)
	}
	if err != nil {
		return fmt.Errorf("cannot run JobWorkspace %s: %w", target, err)
	}
	frozen, err := program.Runnable()
	if err != nil {
		return err
	}
	if o.action == "" {
		return fmt.Errorf("the flag --action is missing: template %s has %s",
			w.Spec.Template, strings.Join(slices.Sorted(maps.Keys(frozen.Actions)), ", "))
	}
	if w.Spec.Approval == v1alpha1.ApprovalPlan && !gates.Ungated(o.action) {
		return gates.Unapproved(o.action, target.String())
	}
	parameters, err := convert.ToParameters("spec.parameters", w.Spec.Parameters)
	if err == nil {
		parameters, err = withParameters(parameters, o.set)
	}
	if err == nil {
		_, err = frozen.Freeze(o.action, parameters, convert.ToSecrets(w.Spec.Secrets))
	}
	if err != nil {
		return err
	}
	return o.store(c, target, w, parameters)
}

// withParameters returns parameters with those that --set changes.
func withParameters(parameters map[string]any, set []string) (map[string]any, error) {
	next := map[string]any{}
	maps.Copy(next, parameters)
	for _, one := range set {
		name, text, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--set %q is not NAME=VALUE", one)
		}
		if text == "" {
			delete(next, name)
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var value any
		err := decoder.Decode(&value)
		if _, more := decoder.Token(); err != nil || !errors.Is(more, io.EOF) {
			value = text
		}
		next[name] = value
	}
	return next, nil
}

// pollRun is the time between two looks at a run that is followed.
const pollRun = time.Second

// followRun shows a run to its end, and returns its exit code.
func followRun(c *cobra.Command, target jobTarget) error {
	s := screenOf(c)
	s.note(fmt.Sprintf("JobRun %s is created", target))
	logs, stop := context.WithCancel(c.Context())
	defer stop()
	printed := make(chan error, 1)
	go func() { printed <- (&jobLogsOptions{follow: true}).print(logs, s, target) }()
	end, err := awaitEnd(c, s, target)
	if err != nil {
		if c.Context().Err() != nil {
			return interrupted(fmt.Sprintf("JobRun %s goes on: orcon job logs %s -n %s -f, or orcon job cancel %[2]s -n %[3]s", target, target.name,
				target.namespace))
		}
		return err
	}
	if end.Fence == 0 {
		stop() // a run that never started has no log
	}
	if err := <-printed; err != nil && end.Fence != 0 {
		s.note(fmt.Sprintf("note: %v: orcon job logs %s -n %s", err, target.name, target.namespace))
	}
	s.note(fmt.Sprintf("%s: %s", end.Phase, cmp.Or(end.Message, end.Reason)))
	return exitOf(end)
}

// awaitEnd notes what a run is doing, until it has ended. An API server that does not answer for a while ends nothing.
func awaitEnd(c *cobra.Command, s screen, target jobTarget) (end v1alpha1.JobRunEnd, err error) {
	last := ""
	note := func(now string) {
		if now != last {
			s.note(now)
		}
		last = now
	}
	err = wait.PollUntilContextCancel(c.Context(), pollRun, true, func(ctx context.Context) (bool, error) {
		var r v1alpha1.JobRun
		err := target.kinds.Get(ctx, target.key(), &r)
		shown := shownRunOf(r)
		switch {
		case apierrors.IsNotFound(err):
			return false, fmt.Errorf("JobRun %s was deleted before its end was seen", target)
		case err != nil:
			note(fmt.Sprintf("note: cannot read JobRun %s: %v", target, err))
		case shown.End != nil:
			end = *shown.End
			return true, nil
		case shown.Phase != "":
			note(fmt.Sprintf("%s: %s", shown.Phase, shown.Message))
		}
		return false, nil
	})
	return end, err
}

// lastCode is the last exit code of a program that means what the program chooses.
const lastCode = 63

// exitOf returns the exit code of a command that followed a run.
func exitOf(end v1alpha1.JobRunEnd) error {
	switch exit := end.Exit; {
	case end.Phase == "Succeeded":
		return nil
	case end.Phase == "Failed" && exit != nil && exit.Cause == "" && exit.Code > 0 && exit.Code <= lastCode:
		return silentError(exit.Code)
	}
	return silentError(exitFailed)
}
