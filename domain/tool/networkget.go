package tool

import "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

// networkGet tells the addresses of an endpoint.
type networkGet struct {
	endpoint              string
	relation              string
	bind, ingress, egress bool
	primary               bool
}

func (t *networkGet) declare(f *flags) {
	f.prints(smart)
	f.relation(&t.relation, "the `relation`, as 7 or db:7")
	f.BoolVar(&t.bind, "bind-address", false, "the address to listen on")
	f.BoolVar(&t.ingress, "ingress-address", false, "the address to give to others")
	f.BoolVar(&t.egress, "egress-subnets", false, "the subnets where connections come from")
	f.BoolVar(&t.primary, "primary-address", false, "the address to listen on")
	f.hidden("primary-address")
}

func (t *networkGet) take(args []string) error {
	switch {
	case len(args) == 0:
		return misuse("name an endpoint, as network-get db", "no arguments specified")
	case args[0] == "":
		return misuse("name an endpoint, as network-get db", "no binding name specified")
	case t.primary && (t.bind || t.ingress || t.egress):
		return misuse("use --bind-address", "--primary-address must be the only flag specified")
	}
	t.endpoint = args[0]
	return tooMany("network-get", args[1:])
}

func (t *networkGet) run(s session) (any, error) {
	relation, err := t.about(s)
	if err != nil {
		return nil, err
	}
	network, err := s.Surroundings.Network(t.endpoint, relation)
	if err != nil {
		return nil, err
	}
	if len(network.Bind) == 0 {
		return nil, refuse(conversation.NotYet, "try again when the pod has an address", "no network config found for binding %q", t.endpoint)
	}
	asked, err := t.asked(network)
	switch {
	case err != nil:
		return nil, err
	case len(asked) == 0:
		return wholeNetwork(network), nil
	case len(asked) == 1:
		return asked[0].value, nil
	default:
		return asked, nil
	}
}

// about returns the UID of the relation that the addresses are for, or "" for
// none: the handler's relation counts where it is of this endpoint.
func (t *networkGet) about(s session) (string, error) {
	if t.relation == "" && s.call.Env[RelationID] == "" {
		return "", nil
	}
	r, err := s.relation(t.relation)
	switch {
	case err != nil:
		return "", err
	case r.Endpoint == t.endpoint:
		return r.UID, nil
	case t.relation == "":
		return "", nil
	default:
		return "", misuse("", "%s is not a relation of endpoint %q", name(r), t.endpoint)
	}
}

// asked returns what the flags ask for, in order of keys.
func (t *networkGet) asked(network Network) (fields, error) {
	bind, err := firstAddress(t.endpoint, network.Bind[0])
	if err != nil && (t.bind || t.primary || t.ingress && len(network.Ingress) == 0) {
		return nil, err
	}
	ingress := bind
	if len(network.Ingress) > 0 {
		ingress = network.Ingress[0]
	}
	var asked fields
	if t.bind || t.primary {
		asked = append(asked, field{key: "bind-address", value: bind})
	}
	if t.egress {
		asked = append(asked, field{key: "egress-subnets", value: nonNil(network.Egress)})
	}
	if t.ingress {
		asked = append(asked, field{key: "ingress-address", value: ingress})
	}
	return asked, nil
}

func firstAddress(endpoint string, i Interface) (string, error) {
	if len(i.Addresses) == 0 {
		return "", refuse(conversation.NotYet, "try again when the pod has an address", "no addresses attached to binding %q", endpoint)
	}
	return i.Addresses[0].IP, nil
}

// nonNil is [] in JSON where nil would be null.
func nonNil(all []string) []string { return append([]string{}, all...) }

// wholeNetwork is all that is known, with the names of Juju's display.
func wholeNetwork(network Network) fields {
	interfaces := make(list, len(network.Bind))
	for i, each := range network.Bind {
		interfaces[i] = fields{
			{key: "mac-address", value: each.MAC},
			{key: "interface-name", value: each.Name},
			{key: "addresses", value: addresses(each.Addresses)},
			{key: "macaddress", value: each.MAC, yamlOnly: true},
			{key: "interfacename", value: each.Name, yamlOnly: true},
		}
	}
	whole := fields{{key: "bind-addresses", value: interfaces}}
	if len(network.Egress) > 0 {
		whole = append(whole, field{key: "egress-subnets", value: network.Egress})
	}
	if len(network.Ingress) > 0 {
		whole = append(whole, field{key: "ingress-addresses", value: network.Ingress})
	}
	return whole
}

func addresses(all []Address) list {
	out := make(list, len(all))
	for i, a := range all {
		out[i] = fields{
			{key: "hostname", value: a.Hostname},
			{key: "value", value: a.IP},
			{key: "cidr", value: a.CIDR},
			{key: "address", value: a.IP, yamlOnly: true},
		}
	}
	return out
}
