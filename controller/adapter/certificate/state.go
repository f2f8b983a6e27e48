package certificate

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"slices"
	"time"
)

// State is the content of Secret orcon-ca, and whether its bundle is in place. It is a value: no method changes it.
type State struct {
	// Current signs leaves. It is nil if there is no usable authority.
	Current *Root
	// Next will sign leaves once all places trust it. It may be nil.
	Next *Root
	// Old no longer sign; leaves that they signed may be in use.
	Old []*x509.Certificate
	// Published is when the bundle with Next in it was seen in every place.
	Published time.Time
	// Promoted is when Current began to sign.
	Promoted time.Time
	// Everywhere says that every place has the bundle of this state. It is
	// seen, not stored.
	Everywhere bool
}

// Trusted returns the authorities to trust in this state.
func (s State) Trusted() []*x509.Certificate {
	var out []*x509.Certificate
	for _, r := range []*Root{s.Current, s.Next} {
		if r != nil {
			out = append(out, r.Certificate)
		}
	}
	return append(out, s.Old...)
}

// Bundle returns the PEM text to publish in this state, the oldest authority
// first: which of them signs does not change the text. It is empty if there
// is no authority.
func (s State) Bundle() []byte {
	trusted := s.Trusted()
	slices.SortFunc(trusted, func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	return Bundle(trusted...)
}
