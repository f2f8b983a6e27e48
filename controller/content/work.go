package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// briefly is the pause of a child before a server is asked again: it has a place that others wait for, and
// the controller tries again later.
const briefly = 200 * time.Millisecond

// Work answers one request of an Isolated, in a child process. An error is about in and out alone; content
// that is wrong gives an answer.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	var r request
	if err := readHead(in, &r); err != nil {
		return err
	}
	a, body := r.answer(ctx, in)
	if err := writeHead(out, a); err != nil || body == nil {
		return err
	}
	return body(out)
}

// answer returns the head of an answer, and what writes its body. What breaks a library is an answer too.
func (r request) answer(ctx context.Context, in io.Reader) (a outcome, body func(io.Writer) error) {
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
	case r.Render != nil:
		text, notes, err := r.Render.render(ctx, in)
		if err != nil {
			return failed(err), nil
		}
		return outcome{Notes: notes}, func(out io.Writer) error {
			_, err := out.Write(text)
			return err
		}
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

func (r *renderRequest) render(ctx context.Context, in io.Reader) (objects []byte, notes []string, err error) {
	var layers []bundle.Layer
	for _, head := range r.Layers {
		layer := bundle.Layer{Destination: head.Destination}
		if err := archive.Untar(io.LimitReader(in, head.Size), layer.Tree.Add); err != nil {
			return nil, nil, err
		}
		layers = append(layers, layer)
	}
	tree, err := bundle.Overlay(layers...)
	if err != nil {
		return nil, nil, err
	}
	rendered, err := Render(ctx, tree, r.Options)
	if err != nil {
		return nil, nil, err
	}
	objects, err = plain.Encode(rendered.Objects)
	return objects, rendered.Notes, err
}
