package bundle

// Look is a query about a cluster.
type Look struct {
	// Compare lists the objects as they would be applied, to find the changes.
	Compare []Object
	// Before are objects as this deployment applied them last: what differs there from what
	// is live was its own.
	Before map[ID]Object
	// Read lists objects that are only read.
	Read []ID
	// Preflight asks whether missing objects could be created, and which permissions the account lacks for all of it.
	Preflight bool
	// Aside are objects of others that explain what is granted. A preflight reads them, and
	// what it may not read is left out.
	Aside []ID
	// Kept are objects that stay as they are where they are there: nothing of them is
	// compared then.
	Kept map[ID]bool
	// Adopted are those of Read that are given back instead of deleted.
	Adopted map[ID]bool
	// Uses asks of definitions and namespaces that are only read what else they hold.
	Uses bool
}

// Seen is the result of a look at a cluster.
type Seen struct {
	Live map[ID]Live
	// Refused are the objects that the API server would not take, and why.
	Refused map[ID]error
}

// Look returns the query for all objects of a sequence and of the inventory, with those applied compared: all that a
// plan needs. before is the sequence applied last.
func (s Sequence) Look(owner string, r Record, before Sequence) Look {
	look := Look{Before: map[ID]Object{}, Aside: s.aside(), Kept: map[ID]bool{}, Adopted: map[ID]bool{}}
	asked := map[ID]bool{}
	for _, item := range s {
		asked[item.ID] = true
		look.Kept[item.ID] = item.Kept
		look.Compare = append(look.Compare, item.marked(owner))
	}
	for _, e := range r.Inventory {
		if !asked[e.ID] {
			look.Read = append(look.Read, e.ID)
			look.Adopted[e.ID] = r.Originals.of(e.ID) != nil
		}
	}
	for _, item := range before {
		look.Before[item.ID] = item.Object
	}
	return look
}
