package relation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/application"

// Pair is two endpoints that fit, with what they agree on.
type Pair struct {
	Key
	Interface string
	// Version is the highest common interface version; 0 where neither names one.
	Version int
}

// String returns the pair as the requirer can write it in tengu.io/relations.
func (p Pair) String() string { return p.WrittenBy(p.Requirer.Application).String() }

// WrittenBy returns the pair as an entry of the tengu.io/relations of one of
// its applications.
func (p Pair) WrittenBy(name string) application.Reference {
	mine, theirs := p.Requirer, p.Provider
	if mine.Application != name {
		mine, theirs = theirs, mine
	}
	ref := application.Reference{Endpoint: mine.Endpoint, Application: theirs.Application, RemoteEndpoint: theirs.Endpoint}
	if p.Abroad() {
		ref.Namespace = theirs.Namespace
	}
	return ref
}
