package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Forward passes what reaches an address on loopback on to the keeper, which serves Terraform's state and has another
// network, until the listener is closed.
func Forward(ctx context.Context, f exchange.Folder, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve Terraform's state: %w", err)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				glog.Warningf("cannot serve Terraform's state: %v", err)
				<-time.After(time.Second)
				continue
			}
			go connect(ctx, f, client)
		}
	}()
	return listener, nil
}

// connect copies between a client and the keeper, until either ends.
func connect(ctx context.Context, f exchange.Folder, client net.Conn) {
	defer client.Close() //nolint:errcheck // either may have ended it
	keeper, err := (&net.Dialer{}).DialContext(ctx, "unix", exchange.Backend(f))
	if err != nil {
		glog.Warningf("cannot pass a request on to the keeper: %v", err)
		return
	}
	defer keeper.Close() //nolint:errcheck // either may have ended it
	ended := make(chan struct{}, 2)
	for to, from := range map[net.Conn]net.Conn{client: keeper, keeper: client} {
		go func() {
			_, _ = io.Copy(to, from) // the client sees what is missing
			ended <- struct{}{}
		}()
	}
	<-ended
}
