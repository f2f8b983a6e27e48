package dockerjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// copying is the part of a task that copies from the template's image.
type copying struct{ *task }

// unpack has a container of the template's image copy its content and its users into the folder (JOBS.md J15). The image is
// pulled if the engine does not have it. A container of an earlier try goes first.
func (t copying) unpack(ctx context.Context) error {
	c, image := t.engine.Client, t.attempt.Input.Image
	_, err := c.ImageInspect(ctx, image)
	if errdefs.IsNotFound(err) {
		err = pull(ctx, c, image)
	}
	if err != nil {
		return fmt.Errorf("the engine cannot pull image %s: %w", image, err)
	}
	o := unpacking(t.attempt, t.folder, t.engine.Program, t.engine.Limits)
	if err = t.discard(ctx, o.Name); err == nil {
		_, err = c.ContainerCreate(ctx, o)
	}
	if err == nil {
		_, err = c.ContainerStart(ctx, o.Name, client.ContainerStartOptions{})
	}
	if err == nil {
		err = t.unpacked(ctx, o.Name)
	}
	if err != nil {
		return elsewhere(fmt.Errorf("the engine cannot unpack image %s: %w", image, err))
	}
	return t.discard(ctx, o.Name)
}

func pull(ctx context.Context, c *client.Client, image string) error {
	answer, err := c.ImagePull(ctx, image, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	return answer.Wait(ctx)
}

// maxReason is how much of the log of a container that failed is its error, in bytes.
const maxReason = 2048

// unpacked waits for the end of the container that copies. Its error has what the container has logged.
func (t copying) unpacked(ctx context.Context, name string) error {
	w := t.engine.Client.ContainerWait(ctx, name, client.ContainerWaitOptions{})
	select {
	case err := <-w.Error:
		return err
	case end := <-w.Result:
		if end.StatusCode == 0 {
			return nil
		}
		text, err := t.log(ctx, name)
		return errors.Join(fmt.Errorf("it ended with exit code %d: %s", end.StatusCode, text), err)
	}
}

// log returns the beginning of the log of a container, which is plain text.
func (t copying) log(ctx context.Context, name string) (string, error) {
	in, err := t.engine.Client.ContainerLogs(ctx, name, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.LimitReader(in, maxReason))
	return strings.TrimSpace(string(text)), err
}
