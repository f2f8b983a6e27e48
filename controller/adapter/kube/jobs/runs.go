package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// maxMessage is the size of the message of a report, in bytes.
const maxMessage = 4096

// Runs finds Runs, which are JobRuns.
type Runs struct {
	Objects

	Writer client.Writer
}

var _ serve.Runs = Runs{}

// Get implements serve.Runs.
func (r Runs) Get(ctx context.Context, uid string) (serve.Run, error) {
	o, err := r.run(ctx, uid)
	if err != nil {
		return serve.Run{}, err
	}
	return toRun(o)
}

// Frozen implements serve.Runs, by the cache where that has the input.
func (r Runs) Frozen(ctx context.Context, uid string) (serve.Run, error) {
	var found v1alpha1.JobRunList
	if err := r.find(ctx, uid, &found); err == nil && len(found.Items) > 0 {
		if run, err := toRun(&found.Items[0]); err == nil {
			return run, nil
		}
	}
	return r.Get(ctx, uid)
}

// toRun returns the Run of a JobRun whose input is frozen.
func toRun(o *v1alpha1.JobRun) (serve.Run, error) {
	input, frozen, err := convert.ToInput(o)
	if err == nil && !frozen {
		err = errors.New("its input is not frozen yet")
	}
	if err != nil {
		return serve.Run{}, fmt.Errorf("cannot read JobRun %s/%s: %w", o.Namespace, o.Name, err)
	}
	run := serve.Run{
		Cancel: convert.Stopped(o), RestoreLogs: input.RestoreLogs, Namespace: o.Namespace, Content: input.Content, Plan: input.Plan,
		Sensitive: input.SensitiveOutputs, Secrets: input.Secrets,
	}
	if input.Plans() {
		run.Plans = o.State.Input.Digest
	}
	if p := o.State.Input.Parameters; p != nil {
		run.Parameters = string(p.Raw)
	}
	return run, nil
}

// Report implements serve.Runs. A report of an earlier fence than the stored one is late, and changes nothing; neither
// does one without content that replaces none.
func (r Runs) Report(ctx context.Context, uid string, report serve.Report) error {
	o, err := r.run(ctx, uid)
	if err != nil {
		return err
	}
	if o.State == nil {
		o.State = &v1alpha1.JobRunState{}
	}
	empty := report.Message == "" && strings.TrimSpace(report.Outputs) == "" && len(report.Sensitive) == 0
	switch before := o.State.Report; {
	case before == nil && empty, before != nil && before.Fence >= report.Fence:
		return nil
	}
	if err := r.conceal(ctx, o, report); err != nil {
		return err
	}
	o.State.Report = &v1alpha1.JobReport{Fence: report.Fence, Message: condition.Cut(report.Message, maxMessage)}
	if outputs := strings.TrimSpace(report.Outputs); outputs != "" {
		o.State.Report.Outputs = &runtime.RawExtension{Raw: []byte(outputs)}
	}
	err = write(ctx, r.Writer, o, "JobRun", uid, o.ResourceVersion, o.State)
	if o.State.Report.Outputs == nil || !convert.TooLarge(err) {
		return err
	}
	o.State.Report = &v1alpha1.JobReport{Fence: report.Fence, Message: condition.Cut(unkept+report.Message, maxMessage)}
	return write(ctx, r.Writer, o, "JobRun", uid, o.ResourceVersion, o.State)
}

// unkept begins the message of a report whose outputs are left out.
const unkept = "its outputs are not kept, since the JobRun would be too large: write less into outputs.json, or give fewer parameters; "
