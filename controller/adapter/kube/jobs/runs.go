package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// maxMessage is the size of the message of a report, in bytes.
const maxMessage = 4096

// Runs finds Runs, which are JobRuns.
type Runs struct {
	Objects

	Writer client.Writer
}

var _ serve.Runs = Runs{}

// Get implements serve.Runs. The environment has what is known only at the claim; all else is in the pod.
func (r Runs) Get(ctx context.Context, uid string) (serve.Run, error) {
	o, err := r.run(ctx, uid)
	if err != nil {
		return serve.Run{}, err
	}
	input, frozen, err := convert.ToInput(o)
	if err == nil && !frozen {
		err = errors.New("its input is not frozen yet")
	}
	if err != nil {
		return serve.Run{}, fmt.Errorf("cannot read JobRun %s/%s: %w", o.Namespace, o.Name, err)
	}
	var w v1alpha1.JobWorkspace
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.Workspace}, &w); err != nil {
		return serve.Run{}, fmt.Errorf("cannot read JobWorkspace %s/%s: %w", o.Namespace, o.Spec.Workspace, err)
	}
	run := serve.Run{
		Cancel: convert.Stopped(o), RestoreLogs: input.RestoreLogs, Namespace: o.Namespace, Content: input.Content, Plan: input.Plan,
		Sensitive: input.SensitiveOutputs,
	}
	if input.Plans() {
		run.Plans = o.State.Input.Digest
	}
	if p := o.State.Input.Parameters; p != nil {
		run.Parameters = string(p.Raw)
	}
	if s := w.State; s != nil && s.Lock != nil && s.Lock.Run.UID == uid {
		run.Environment = []string{contract.VariableGeneration + "=" + strconv.FormatInt(s.Lock.Base, 10)}
	}
	return run, nil
}

// Report implements serve.Runs. A report of an earlier fence than the stored one is late, and changes nothing.
func (r Runs) Report(ctx context.Context, uid string, report serve.Report) error {
	o, err := r.run(ctx, uid)
	if err != nil {
		return err
	}
	if o.State == nil {
		o.State = &v1alpha1.JobRunState{}
	}
	if before := o.State.Report; before != nil && before.Fence >= report.Fence {
		return nil
	}
	if err := r.conceal(ctx, o, report); err != nil {
		return err
	}
	o.State.Report = &v1alpha1.JobReport{Fence: report.Fence, Message: condition.Cut(report.Message, maxMessage)}
	if outputs := strings.TrimSpace(report.Outputs); outputs != "" {
		o.State.Report.Outputs = &runtime.RawExtension{Raw: []byte(outputs)}
	}
	return write(ctx, r.Writer, o, "JobRun", uid, o.ResourceVersion, o.State)
}
