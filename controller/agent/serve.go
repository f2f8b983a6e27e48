package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/golang/glog"
	"golang.org/x/sys/unix"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// readHeader bounds how long a client may take to say what it wants.
const readHeader = 5 * time.Second

// ServeSocket answers on the Unix socket at path until ctx is done. If it cannot listen, it reports that and tries
// again: without a socket a gate would never be seen to open.
func (a *Agent) ServeSocket(ctx context.Context, path string) {
	keepServing(ctx, path, a.SocketHandler())
}

// ServeTools answers the tools of a container on the Unix socket at path until
// ctx is done. The container may run as any user, and no other container has the
// path (SAFETY.md I28).
func (a *Agent) ServeTools(ctx context.Context, path, container string) {
	handler := a.ToolHandler(container)
	if container == injection.HandlerContainer && a.handlers != nil {
		handler = a.RunnerHandler(container)
	}
	keepServing(ctx, path, handler)
}

func keepServing(ctx context.Context, path string, handler http.Handler) {
	for ctx.Err() == nil {
		if err := serveSocket(ctx, path, handler); err != nil {
			glog.Errorf("cannot serve the socket: %v; trying again", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func serveSocket(ctx context.Context, path string, handler http.Handler) error {
	folder, err := os.OpenRoot(filepath.Dir(path)) // what is done to the socket is done to nothing else
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	name := filepath.Base(path)
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // of a process before this one
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	if err := letAsk(folder, name); err != nil {
		return err
	}
	return serve(ctx, listener, handler)
}

// letAsk lets every program that has the path of a socket connect. It goes by a descriptor, as before Linux 6.6: the
// later system call of os.Root is refused by seccomp profiles that do not know it, unless runc mends them.
func letAsk(folder *os.Root, name string) error {
	f, err := folder.OpenFile(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), 0o666) //nolint:gosec // as said
}

// ServeMetrics serves metrics at the settings' address until ctx is done. A port
// that is taken, as on a host network, costs the metrics and nothing else.
func (a *Agent) ServeMetrics(ctx context.Context) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.settings.MetricsAddress)
	if err == nil {
		err = serve(ctx, listener, a.MetricsHandler())
	}
	if err != nil {
		glog.Warningf("cannot serve metrics, going on without: %v", err)
	}
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeader}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
