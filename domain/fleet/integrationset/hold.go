package integrationset

// Hold is a fault of the data that keeps members as they are. A field that is "" fits every member.
type Hold struct {
	File, Integration, Namespace string
	// Why names the fault, with its file and line.
	Why string
}

// covers reports whether the hold keeps a member as it is. What a namespace shares is kept by any fault that may hide
// an entry of the namespace.
func (h Hold) covers(k Key, file string) bool {
	fits := func(want, have string) bool { return want == "" || want == have }
	if k.Integration == "" {
		return fits(h.Namespace, k.Namespace)
	}
	return fits(h.File, file) && fits(h.Integration, k.Integration) && fits(h.Namespace, k.Namespace)
}

// held returns why a member stays as it is; "" if nothing keeps it.
func (s Situation) held(k Key, file string) string {
	for _, h := range s.Holds {
		if h.covers(k, file) {
			return h.Why
		}
	}
	return ""
}
