package controlplane

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
)

const (
	// firstPort and lastPort lie below the kernel's range for outgoing
	// connections: a stopped component's port must still be free at its return.
	firstPort, lastPort = 20000, 29999
	portTries           = 200
)

// ErrNoPort says that no free port was found.
var ErrNoPort = errors.New("no free port")

// Claim holds ports so that no other cluster on the machine takes them.
type Claim []io.Closer

// Close gives the ports back.
func (c Claim) Close() error {
	var failed []error
	for _, closer := range c {
		failed = append(failed, closer.Close())
	}
	return errors.Join(failed...)
}

// ClaimPorts finds a free port on loopback for each component. The claim must
// be held while the cluster lives.
func ClaimPorts() (Ports, Claim, error) {
	ports, claim := Ports{}, Claim{}
	for _, port := range []*int{&ports.EtcdClient, &ports.EtcdPeer, &ports.APIServer, &ports.ControllerManager, &ports.Scheduler} {
		number, closer, err := claimPort()
		if err != nil {
			return Ports{}, nil, errors.Join(err, claim.Close())
		}
		*port, claim = number, append(claim, closer)
	}
	return ports, claim, nil
}

// claimPort takes an abstract Unix socket named after the port, which is gone
// with this process and leaves no file, and sees that nobody listens there.
func claimPort() (int, io.Closer, error) {
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		claim, err := net.Listen("unix", fmt.Sprintf("@orcon-cluster-port-%d", port))
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, port))
		if err != nil {
			_ = claim.Close()
			continue
		}
		_ = listener.Close()
		return port, claim, nil
	}
	return 0, nil, fmt.Errorf("cannot claim a port between %d and %d on %s: %w", firstPort, lastPort, loopback, ErrNoPort)
}
