package negotiation

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// commitRefused names the units of an application whose transaction is not delivered, or was dropped (TRUST.md T10).
func commitRefused(name string, outboxes []relation.Outbox) []condition.Condition {
	var texts []string
	for _, o := range outboxes {
		if o.Application == name && o.Refusal != "" {
			texts = append(texts, name+"/"+o.Unit+": "+o.Refusal)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []condition.Condition{condition.New(condition.CommitRefused, true, string(condition.CommitRefused), strings.Join(texts, "; "))}
}
