package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// briefly is the pause of a child before a server is asked again: it has a place that others wait for, and
// the controller tries again later.
const briefly = 200 * time.Millisecond

// Renderer renders a tree.
type Renderer func(ctx context.Context, tree bundle.Tree, o Options) (Output, error)

// Worker returns what answers one request of an Isolated, in a child process. Without a renderer it only fetches. An
// error is about in and out alone; content that is wrong gives an answer.
func Worker(render Renderer) Run {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		var r request
		if err := readHead(in, &r); err != nil {
			return err
		}
		a, body := r.answer(ctx, in, render)
		if err := writeHead(out, a); err != nil || body == nil {
			return err
		}
		return body(out)
	}
}

// answer returns the head of an answer, and what writes its body. What breaks a library is an answer too.
func (r request) answer(ctx context.Context, in io.Reader, render Renderer) (a outcome, body func(io.Writer) error) {
	defer func() {
		if cause := recover(); cause != nil {
			err := errors.New("the content broke the program that reads it")
			if r.Render == nil || !r.Render.Options.Secret() {
				err = fmt.Errorf("%w: %v", err, cause)
			}
			a, body = failed(err), nil
		}
	}()
	switch {
	case r.Fetch != nil:
		tree, digest, err := r.Fetch.fetch(ctx)
		if err != nil {
			return failed(err), nil
		}
		return outcome{Digest: digest}, func(out io.Writer) error { return archive.Pack(out, &tree) }
	case r.Render != nil && render != nil:
		rendered, err := r.Render.render(ctx, in, render)
		if err != nil {
			return failed(err), nil
		}
		return outcome{Notes: rendered.Notes}, func(out io.Writer) error {
			_, err := out.Write(rendered.Objects)
			return err
		}
	case r.Render != nil:
		return failed(errors.New("this program does not render")), nil
	}
	return failed(errors.New("the request is empty")), nil
}

func (r *fetchRequest) fetch(ctx context.Context) (bundle.Tree, string, error) {
	f := Fetcher{Mirrors: r.Mirrors, Pause: briefly}
	if r.Rules != nil {
		f.Destinations = func(context.Context) (destination.Rules, error) { return *r.Rules, nil }
	}
	return f.folder(ctx, r.Source)
}

func (r *renderRequest) render(ctx context.Context, in io.Reader, render Renderer) (Output, error) {
	var layers []bundle.Layer
	for _, head := range r.Layers {
		layer := bundle.Layer{Destination: head.Destination}
		if err := archive.Untar(io.LimitReader(in, head.Size), layer.Tree.Add); err != nil {
			return Output{}, err
		}
		layers = append(layers, layer)
	}
	tree, err := bundle.Overlay(layers...)
	if err != nil {
		return Output{}, err
	}
	return render(ctx, tree, r.Options)
}
