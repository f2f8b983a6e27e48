package injection

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Resources are the agent's requests and limits, as quantities (INJECTION.md
// I11, SAFETY.md I29).
type Resources struct {
	CPURequest, CPULimit, MemoryRequest, MemoryLimit string
}

// minimumMemory is the least limit, in MiB: the memory volumes when full (17), which count as the agent's, the agent
// itself (16) and room for the copies it makes (SAFETY.md I19).
const minimumMemory = 48

// check returns what is wrong with the resources together, or "".
func (r Resources) check() string {
	switch {
	case amount(r.CPURequest) > amount(r.CPULimit):
		return fmt.Sprintf("cpu: the request %s is more than the limit %s", r.CPURequest, r.CPULimit)
	case amount(r.MemoryRequest) > amount(r.MemoryLimit):
		return fmt.Sprintf("memory: the request %s is more than the limit %s", r.MemoryRequest, r.MemoryLimit)
	case amount(r.MemoryLimit) < minimumMemory<<20:
		return fmt.Sprintf("memory: the limit %s is less than %dMi, which the agent and its files may need", r.MemoryLimit, minimumMemory)
	case amount(r.CPULimit) < 0.01:
		return fmt.Sprintf("cpu: the limit %s is less than 10m", r.CPULimit)
	default:
		return ""
	}
}

// guaranteed makes requests and limits equal, so that the agent does not take
// its pod out of the Guaranteed class (SAFETY.md I29).
func (r Resources) guaranteed() Resources {
	return Resources{CPURequest: r.CPULimit, CPULimit: r.CPULimit, MemoryRequest: r.MemoryLimit, MemoryLimit: r.MemoryLimit}
}

var quantity = regexp.MustCompile(`^([0-9]{1,15}|[0-9]{0,15}\.[0-9]{1,9})(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)

func isQuantity(s string) bool { return quantity.MatchString(s) && amount(s) > 0 }

// amount is the value of a quantity; 0 for what is none.
func amount(s string) float64 {
	digits := strings.TrimRight(s, "mkMGTKi")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n * multiplier(s[len(digits):])
}

func multiplier(suffix string) float64 {
	switch suffix {
	case "":
		return 1
	case "m":
		return 1e-3
	case "k":
		return 1e3
	case "M":
		return 1e6
	case "G":
		return 1e9
	case "T":
		return 1e12
	case "Ki":
		return 1 << 10
	case "Mi":
		return 1 << 20
	case "Gi":
		return 1 << 30
	case "Ti":
		return 1 << 40
	default:
		return 0
	}
}
