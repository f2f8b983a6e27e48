package bundle

// Active returns the number of the revision that the cluster follows: the newest one if it is carried out or has
// succeeded, else the newest healthy one; 0 for none.
func (r Record) Active() int {
	if last := r.Last(); last.State == StateActive || last.State == StateSucceeded {
		return last.Number
	}
	number, _ := r.Healthy()
	return number
}
