package relation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// End is one end of a relation.
type End = conversation.End

// Key says which two ends are related. The same pair twice is one relation
// (RELATIONS.md M3).
type Key struct {
	Requirer End
	Provider End
}

// Peer reports whether the relation is among the units of one application:
// both ends are the same (RELATIONS.md M4).
func (k Key) Peer() bool { return k.Requirer == k.Provider }

// Abroad reports whether the ends are in two namespaces (RELATIONS.md M6).
func (k Key) Abroad() bool { return k.Requirer.Namespace != k.Provider.Namespace }

// Ends returns the requirer's end and the provider's; of a peer relation its only one.
func (k Key) Ends() []End {
	if k.Peer() {
		return []End{k.Requirer}
	}
	return []End{k.Requirer, k.Provider}
}

// Other returns the end of a relation that is not e.
func (k Key) Other(e End) End {
	if k.Requirer == e {
		return k.Provider
	}
	return k.Requirer
}

// Unit returns how a relation's state names a unit of one of its ends: as its
// requirer's namespace does.
func (k Key) Unit(e End, number int) conversation.Unit {
	return conversation.Unit{Application: e.From(k.Requirer.Namespace), Number: number}
}

// Name returns the name of the relation's object: readable, at most 63
// characters, and different for different keys (SAFETY.md C3).
func (k Key) Name() string {
	return objectName(k.Requirer.Application+"-"+k.Requirer.Endpoint,
		k.Requirer.Namespace, k.Requirer.Application, k.Requirer.Endpoint,
		k.Provider.Namespace, k.Provider.Application, k.Provider.Endpoint)
}

// DatabagName returns the name of the object that holds the application bag of
// an endpoint.
func DatabagName(application, endpoint string) string {
	return objectName(application+"-"+endpoint, application, endpoint)
}

// maxReadable is how much of a generated name is for people.
const maxReadable = 40

func objectName(readable string, parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		writeString(sum, p)
	}
	readable = strings.ReplaceAll(readable, "_", "-")
	if len(readable) > maxReadable {
		readable = strings.TrimRight(readable[:maxReadable], "-")
	}
	return readable + "-" + hex.EncodeToString(sum.Sum(nil))[:10]
}

// writeString writes the length of s and then s, so that different parts never
// read alike.
func writeString(sum hash.Hash, s string) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	_, _ = io.WriteString(sum, s)
}
