package health

// AddressKey is the annotation of Services and Ingresses that opts out of waiting for an address, with
// the value Ignore: not every cluster gives them one.
const AddressKey = "orcon.tengu.io/address"

// IgnoreAddress is the value of AddressKey.
const IgnoreAddress = "Ignore"

// addressed judges an object that the cluster gives an address.
func addressed(o subject) Verdict {
	addresses, _ := o.at("status", "loadBalancer", "ingress").([]any)
	annotations, _ := o.at("metadata", "annotations").(map[string]any)
	if len(addresses) > 0 || annotations[AddressKey] == IgnoreAddress {
		return ready()
	}
	return waits("has no address yet; if this cluster gives none, annotate it with " + AddressKey + ": " + IgnoreAddress)
}

func service(o subject) Verdict {
	if o.text("spec", "type") != "LoadBalancer" {
		return ready()
	}
	return addressed(o)
}

func ingress(o subject) Verdict { return addressed(o) }
