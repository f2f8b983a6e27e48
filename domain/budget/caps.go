package budget

import "fmt"

// The most objects, made by units, that an application and a namespace hold, and the bytes in their databags.
const (
	ApplicationBags     = 4096
	ApplicationOutboxes = 4096
	ApplicationSecrets  = 256
	ApplicationStored   = 32 << 20
	NamespaceBags       = 16384
	NamespaceOutboxes   = 16384
	NamespaceSecrets    = 1024
	NamespaceStored     = 128 << 20
)

// Holding counts databags, outboxes and secrets, and the bytes that the databags hold.
type Holding struct{ Bags, Outboxes, Secrets, Bytes int }

// Plus returns the sum of two.
func (h Holding) Plus(g Holding) Holding {
	return Holding{h.Bags + g.Bags, h.Outboxes + g.Outboxes, h.Secrets + g.Secrets, h.Bytes + g.Bytes}
}

// Minus returns what is left without g.
func (h Holding) Minus(g Holding) Holding {
	return Holding{h.Bags - g.Bags, h.Outboxes - g.Outboxes, h.Secrets - g.Secrets, h.Bytes - g.Bytes}
}

// CheckCaps returns why an application and its namespace, which hold that much, cannot hold what is added; empty if
// they can. What adds nothing to a sum is accepted, also if that is over its cap already: it may shrink.
func CheckCaps(application, namespace, adds Holding) string {
	for _, c := range []struct {
		of             string
		held, add, cap int
	}{
		{"databags of an application", application.Bags, adds.Bags, ApplicationBags},
		{"databags of a namespace", namespace.Bags, adds.Bags, NamespaceBags},
		{"outboxes of an application", application.Outboxes, adds.Outboxes, ApplicationOutboxes},
		{"outboxes of a namespace", namespace.Outboxes, adds.Outboxes, NamespaceOutboxes},
		{"secrets of an application", application.Secrets, adds.Secrets, ApplicationSecrets},
		{"secrets of a namespace", namespace.Secrets, adds.Secrets, NamespaceSecrets},
		{"bytes in the databags of an application", application.Bytes, adds.Bytes, ApplicationStored},
		{"bytes in the databags of a namespace", namespace.Bytes, adds.Bytes, NamespaceStored},
	} {
		if c.add > 0 && c.held+c.add > c.cap {
			return fmt.Sprintf("there may be %d %s, and this would make %d", c.cap, c.of, c.held+c.add)
		}
	}
	return ""
}
