package bundle

// Active returns the revision that the cluster shall be: the newest one if it is carried
// out or has succeeded, else the newest healthy one; 0 for none.
func (r Record) Active() int {
	if last := r.Last(); last.State == StateActive || last.State == StateSucceeded {
		return last.Number
	}
	number, _ := r.Healthy()
	return number
}
