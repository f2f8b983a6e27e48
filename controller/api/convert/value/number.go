package value

import (
	"fmt"
	"math"
)

// Int returns a number that the domain keeps, or an error if it is negative or above 2147483647.
func Int(n int64) (int, error) {
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%d is out of range", n)
	}
	return int(n), nil
}

// FromInt narrows a number that the domain keeps small.
func FromInt(n int) int32 {
	return int32(min(max(n, 0), math.MaxInt32))
}
