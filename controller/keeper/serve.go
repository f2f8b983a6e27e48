package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/backend"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// headers is how long a client may take for the head of its request.
const headers = 10 * time.Second

// serve serves Terraform's state. The function that it returns ends that, when no request changes the folder any more.
func (r *run) serve(ctx context.Context) (stop func(), err error) {
	if r.Settings.Backend == "" {
		return func() {}, nil
	}
	handler := &backend.Backend{
		State: r.Settings.State, Scratch: r.Settings.Scratch, Fence: r.hold.Fence, Limit: r.Settings.Limit, Store: r.captures.checkpoint,
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headers, BaseContext: func(net.Listener) context.Context { return ctx }}
	listener, err := listen(ctx, r.Settings, r.Exchange)
	if err != nil {
		return func() {}, fmt.Errorf("cannot serve Terraform's state: %w", err)
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			glog.Errorf("cannot serve Terraform's state: %v", err)
		}
	}()
	return func() {
		if err := server.Close(); err != nil {
			glog.Warningf("cannot end to serve Terraform's state: %v", err)
		}
		handler.Close()
	}, nil
}

// listen listens where Terraform's state is served. An earlier keeper may have left its socket.
func listen(ctx context.Context, s Settings, f exchange.Folder) (net.Listener, error) {
	network, address := "tcp", s.Backend
	if s.Forwarded {
		network, address = "unix", exchange.Backend(f)
		if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return (&net.ListenConfig{}).Listen(ctx, network, address)
}
