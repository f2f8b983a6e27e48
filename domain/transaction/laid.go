package transaction

import "time"

// Laid returns the bags that the delivery of a committed transaction will change, as they are then, by the names of
// their objects; none if it will be dropped. A view shows them from the commit point on (TRUST.md T10). The bags must
// have been noted; what the transaction writes about secrets is left out.
func Laid(s Stored, c Commit) map[string]StoredBag {
	c.Secrets = nil
	parts, err := delivery{c, s, time.Time{}}.parts()
	if err != nil {
		return nil
	}
	all := map[string]StoredBag{}
	for _, p := range parts {
		if w, is := p.write.(WriteBag); is {
			all[w.Bag.Name()] = StoredBag{Data: w.Data, There: true, Term: w.Term, Writer: w.Writer}
		}
	}
	return all
}
