package crowd

import "time"

// Age returns how old a member becomes: more than half of the greatest age, and at most all of it. chance is drawn for
// each member, at least 0 and below 1, so that members that came at once leave spread over the other half.
func Age(greatest time.Duration, chance float64) time.Duration {
	return greatest - time.Duration(chance*float64(greatest)/2)
}
