package supply

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/sandbox"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

const (
	// fetches and renderings are how many child processes there are of each at a time. Fetches wait for servers, and
	// renderings compute.
	fetches, renderings = 4, 2
	// ChildMemory is how many bytes each of them may have: 576 MiB. The Deployment has memory for all of them, beside
	// that of the controller.
	ChildMemory = 576 << 20
	// childCPU is how much processor time a child may use.
	childCPU = time.Minute
	// fetchTime and renderTime are how long a child may take in all.
	fetchTime  = 11 * time.Minute
	renderTime = 5 * time.Minute
	// maxAnswer is how much a child may write beside content: an error, or a digest.
	maxAnswer = 1 << 20
)

// Places returns the limits of the bundle controller.
func Places() queue.Limits {
	return queue.Limits{
		queue.Fetch:  {Places: fetches, Largest: content.MaxFetched, All: 10 * content.MaxFetched},
		queue.Render: {Places: renderings, Largest: content.MaxRendered, All: 8 * content.MaxRendered},
	}
}

// Isolate returns what fetches and renders in child processes, with their files in a folder. What an
// earlier process left there is removed. The program must call Child first of all.
func Isolate(folder string) (*content.Isolated, error) {
	box, err := sandbox.Open(filepath.Join(folder, "children"))
	if err != nil {
		return nil, err
	}
	fetching := sandbox.Allowance{Memory: ChildMemory, CPU: childCPU, Wall: fetchTime, Output: content.MaxFetched + maxAnswer}
	rendering := sandbox.Allowance{Memory: ChildMemory, CPU: childCPU, Wall: renderTime, Output: content.MaxRendered + maxAnswer}
	i := &content.Isolated{Fetching: running(box, fetching), Rendering: running(box, rendering), Cache: content.Cache{Folder: folder}}
	return i, i.Cache.Sweep()
}

func running(box sandbox.Box, l sandbox.Allowance) content.Run {
	return func(ctx context.Context, in io.Reader, out io.Writer) error { return box.Run(ctx, l, in, out) }
}

// Child does the work of a child process and ends the process, if it is one. Without a renderer it only fetches.
func Child(render content.Renderer) {
	work := content.Worker(render)
	sandbox.Main(func(in io.Reader, out io.Writer) error { return work(context.Background(), in, out) })
}
