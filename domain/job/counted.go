package job

import "fmt"

// Counted returns a number with the noun for one, or for several.
func Counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
