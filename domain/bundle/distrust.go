package bundle

// Distrust returns a record in which revisions count as never begun unless begun reports that they
// were, as something else than the record says: a state that was changed by hand carries nothing out
// (TRUST.md R2). Their content is planned anew.
func Distrust(r Record, begun func(Revision) bool) Record {
	return r.edit(func(v *Revision) {
		if v.runs() && !begun(*v) {
			v.State, v.Begun, v.Healthy, v.Message = StateSuperseded, false, false, "no BundleRevision confirms that it was carried out"
		}
	})
}

// runs reports whether the record has the revision carried out, now or before.
func (r Revision) runs() bool {
	switch r.State {
	case StateActive, StateSucceeded, StateFailed:
		return true
	case StateProposed, StateSuperseded:
	}
	return r.Begun || r.Healthy
}
