package revocation

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Annotation of Secret orcon-ca has the SHA-256 fingerprints of authorities that are trusted no more, as hexadecimal
// digits, joined by commas.
const Annotation = "certificate.orcon.tengu.io/revoked"

// Revoked are fingerprints of authorities.
type Revoked []string

// In returns the authorities that a Secret revokes. A nil Secret revokes none.
func In(secret *corev1.Secret) Revoked {
	if secret == nil || secret.Annotations[Annotation] == "" {
		return nil
	}
	return strings.Split(secret.Annotations[Annotation], ",")
}

// Fingerprint identifies a certificate.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// Has reports whether an authority is revoked.
func (r Revoked) Has(c *x509.Certificate) bool { return slices.Contains(r, Fingerprint(c)) }

// Without returns the authorities that are not revoked.
func (r Revoked) Without(all []*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(all), r.Has)
}
