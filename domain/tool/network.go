package tool

// Network is where a unit is reached by an endpoint, and where from its own
// connections come.
type Network struct {
	// Bind are the interfaces to listen on; the first address of the first is the
	// one to advertise to peers.
	Bind []Interface
	// Ingress are the addresses to give to others. Without any it is the first to
	// listen on.
	Ingress []string
	// Egress are the subnets of its connections, in CIDR notation.
	Egress []string
}

// Interface is a network interface of a pod.
type Interface struct {
	Name      string
	MAC       string
	Addresses []Address
}

// Address is one address of an interface.
type Address struct {
	Hostname string
	// IP is the address as text, CIDR the network that it is in.
	IP, CIDR string
}
