package bundle

import "cmp"

// advance gives what makes a Secret that a workload reads, such as a Certificate, the phase of configuration, together
// with what issues it: each would wait for the other else (CONTENT.md X7). An author's phase stays, and so does that of
// kinds that the bundle itself defines, since a workload of the bundle may be what makes them work.
func (g *graph) advance() {
	m := g.items.making()
	for _, r := range g.items.Readings() {
		g.advanceMakers(m, r.ID)
	}
}

func (g *graph) advanceMakers(m making, id ID) {
	for _, i := range m.of(id) {
		g.advanceItem(m, i)
	}
}

// advanceItem advances a custom resource, what it names as its issuer or store, and the maker of that one's authority.
func (g *graph) advanceItem(m making, i int) {
	item := &g.items[i]
	if item.Phase != CustomResources || item.Object.Annotation(PhaseKey) != "" || definedHere(item.After) {
		return
	}
	item.Phase = Configuration
	for field, kind := range map[string]string{"issuerRef": "Issuer", "secretStoreRef": "SecretStore"} {
		reference := item.Object.below("spec", field)
		issuer := ID{Group: item.ID.Group, Kind: cmp.Or(reference.Text("kind"), kind), Name: reference.Text("name")}
		for _, issuer.Namespace = range []string{"", item.ID.Namespace} {
			if to, there := g.places[issuer]; there {
				g.advanceItem(m, to)
			}
		}
	}
	if name := item.Object.Text("spec", "ca", "secretName"); name != "" {
		g.advanceMakers(m, ID{Kind: "Secret", Namespace: item.ID.Namespace, Name: name})
	}
}

// definedHere reports whether a dependency of an item is the definition of its kind.
func definedHere(after []Edge) bool {
	for _, e := range after {
		if e.To.kind() == definition {
			return true
		}
	}
	return false
}
