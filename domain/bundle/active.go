package bundle

import "slices"

// Active returns the number of the revision that the cluster follows: the newest one that is carried out or has
// succeeded, else the newest healthy one; 0 for none.
func (r Record) Active() int {
	for _, v := range slices.Backward(r.Revisions) {
		if v.State == StateActive || v.State == StateSucceeded {
			return v.Number
		}
	}
	number, _ := r.Healthy()
	return number
}
