package dockerjob

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Installed is the path of job-runner in each container.
const Installed = installed

// Folders returns the folder of the state of an attempt, and the one that keeper and shim share.
func (e *Engine) Folders(n executor.Name) (state string, shared exchange.Folder) {
	f := e.folder(n)
	return f.State(), f.Exchange()
}

// Kill kills all processes of an attempt at once.
func (e *Engine) Kill(ctx context.Context, n executor.Name) error {
	if _, err := e.Client.ContainerKill(ctx, name(n), client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		return cannot("kill", n, err)
	}
	return nil
}

// Clear removes all attempts, which takes a while.
func (e *Engine) Clear(ctx context.Context) error {
	e.mutex.Lock()
	var all []executor.Name
	for n := range e.tasks {
		all = append(all, n)
	}
	e.mutex.Unlock()
	for _, n := range all {
		if err := e.Remove(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// Version names the engine, its kernel, and how it isolates containers.
func (e *Engine) Version(ctx context.Context) (string, error) {
	found, err := e.Client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return "", fmt.Errorf("the engine does not describe itself: %w", err)
	}
	i := found.Info
	return strings.Join(append([]string{"engine " + i.ServerVersion, "kernel " + i.KernelVersion, "runtime " + i.DefaultRuntime},
		i.SecurityOptions...), " "), nil
}

// Import makes an image of a folder, packed by tar, if the engine does not have the image.
func (e *Engine) Import(ctx context.Context, image string, folder io.Reader) error {
	_, err := e.Client.ImageInspect(ctx, image)
	if !errdefs.IsNotFound(err) {
		return err
	}
	answer, err := e.Client.ImageImport(ctx, client.ImageImportSource{Source: folder, SourceName: "-"}, image, client.ImageImportOptions{})
	if err != nil {
		return fmt.Errorf("the engine cannot import image %s: %w", image, err)
	}
	defer answer.Close() //nolint:errcheck // it is read to its end
	_, err = io.Copy(io.Discard, answer)
	return err
}
