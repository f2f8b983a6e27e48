// Package envelope seals messages for the holder of one key, by HPKE (RFC 9180) with P-256, HKDF-SHA256 and AES-256-GCM.
//
// What must not come in: whose key it is, and what the message means.
package envelope

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/hpke"
	"errors"
	"fmt"
)

// errKey is the error of a key by which nothing can be sealed.
var errKey = errors.New("the key is not of P-256: join anew, which makes one")

// Seal returns a message that only the holder of a key can read, and only for a purpose.
func Seal(to crypto.PublicKey, purpose string, message []byte) ([]byte, error) {
	public, is := to.(*ecdsa.PublicKey)
	if !is {
		return nil, fmt.Errorf("cannot seal a message: %w", errKey)
	}
	point, err := public.ECDH()
	if err != nil {
		return nil, fmt.Errorf("cannot seal a message: %w: %w", errKey, err)
	}
	key, err := hpke.NewDHKEMPublicKey(point)
	if err != nil {
		return nil, fmt.Errorf("cannot seal a message: %w", err)
	}
	return hpke.Seal(key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), message)
}

// Open returns a message that was sealed for a key and a purpose.
func Open(by *ecdsa.PrivateKey, purpose string, sealed []byte) ([]byte, error) {
	secret, err := by.ECDH()
	if err != nil {
		return nil, fmt.Errorf("cannot open a sealed message: %w: %w", errKey, err)
	}
	key, err := hpke.NewDHKEMPrivateKey(secret)
	if err != nil {
		return nil, fmt.Errorf("cannot open a sealed message: %w", err)
	}
	message, err := hpke.Open(key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(purpose), sealed)
	if err != nil {
		return nil, fmt.Errorf("cannot open a sealed message: it is for another key or purpose, or was changed: %w", err)
	}
	return message, nil
}
