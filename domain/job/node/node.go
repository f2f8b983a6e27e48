package node

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// The times of a node.
const (
	// TokenLife is how long a token is good.
	TokenLife = 15 * time.Minute
	// CertificateLife is how long a certificate is valid. It is renewed when a third of that is left.
	CertificateLife = 24 * time.Hour
	// Backdate is how long before it is signed a certificate is valid: the clock of a node may be behind.
	Backdate = time.Hour
	// RenewalGrace is how long after its end a certificate may still be renewed.
	RenewalGrace = 30 * 24 * time.Hour
	// OfferLife is how long a node may take to accept an attempt.
	OfferLife = 30 * time.Second
	// Heartbeat is how often a node calls at least, and Lost after which silence it counts as lost.
	Heartbeat = 10 * time.Second
	Lost      = 60 * time.Second
)

// The errors of calls that are refused.
var (
	// ErrUnknown is wrapped where a key is not that of the node.
	ErrUnknown = errors.New("the key is not that of the node")
	// ErrRevoked is wrapped where the node is revoked.
	ErrRevoked = errors.New("the node is revoked")
	// ErrExpired is wrapped where a certificate or a token is not valid any more.
	ErrExpired = errors.New("it has expired")
	// ErrToken is wrapped where a token is not the last one of its node, or was used.
	ErrToken = errors.New("the token is not good")
)

// Directive is a person's order about a node.
type Directive string

// The orders. The zero value has none.
const (
	// Suspend leaves runs that are under way, and gives the node no further one.
	Suspend Directive = "Suspended"
	// Revoke refuses each call, for ever.
	Revoke Directive = "Revoked"
)

// Node is one machine.
type Node struct {
	Name   string
	Order  Directive
	Labels map[string]string
	// Namespaces lists those whose runs the node may carry out, Capacity is how many at once.
	Namespaces []string
	Capacity   int
	// Adopted is the key that a person adopted; "" for none.
	Adopted string
	Identity
	Call
	// Accepted names checks of the runner contract that may differ.
	Accepted []string
}

// Identity holds the keys by which a node is known, and its token. All are digests.
type Identity struct {
	// Key is the key of the agent that joined last; "" before one has.
	Key string
	// Former is the key that was adopted when Key joined; "" for none. It is the node's as long as it is adopted.
	Former string
	// Expires is the end of the last certificate of Key.
	Expires time.Time
	Token   Token
}

// Call holds what the agent of a node told in its last call. The zero value is that of one that has not called.
type Call struct {
	// Caller is the key of that agent; "" where an earlier version of the controller noted the call.
	Caller string
	Seen   time.Time
	// Contract is the version of the runner contract that it has.
	Contract string
	// Proof holds what it found of that contract; nil before it has. Untested tells why it cannot test that; "" for no reason.
	Proof    *Proof
	Untested string
}

// Token lets an agent join once.
type Token struct {
	Digest  string
	Expires time.Time
	// User is the key that has used it; "" for none.
	User string
}

// Machine returns the key of the machine that the node is: the adopted one if it has joined, else the one that joined last.
// A machine that joins beside an adopted one waits until a person decides.
func (n Node) Machine() string {
	if n.Former != "" && n.Former == n.Adopted {
		return n.Former
	}
	return n.Key
}

// Called returns the node with the last call of its machine. A call of another one says nothing about it.
func (n Node) Called(c Call) Node {
	n.Call = Call{}
	if c.Caller == "" || c.Caller == n.Machine() {
		n.Call = c
	}
	return n
}

// Digest returns the digest of a key or of the secret of a token.
func Digest(secret []byte) string {
	sum := sha256.Sum256(secret)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Mint returns the identity with a new token, which takes the place of the last one.
func (n Node) Mint(digest string, now time.Time) (Identity, error) {
	if n.Order == Revoke {
		return n.Identity, fmt.Errorf("cannot let RunNode %s join: %w: delete it, and create it anew", n.Name, ErrRevoked)
	}
	next := n.Identity
	next.Token = Token{Digest: digest, Expires: now.Add(TokenLife)}
	return next, nil
}

// Join returns the identity of an agent with a token. The key that has used a token may use it again: the answer may have
// been lost.
func (n Node) Join(digest, key string, now time.Time) (Identity, error) {
	t := n.Token
	refused := func(err error, cure string) (Identity, error) {
		return n.Identity, fmt.Errorf("RunNode %s cannot join: %w: %s", n.Name, err, cure)
	}
	another := fmt.Sprintf("make another one: orcon job node join %s", n.Name)
	switch {
	case n.Order == Revoke:
		return refused(ErrRevoked, "delete it, and create it anew")
	case t.Digest == "" || subtle.ConstantTimeCompare([]byte(t.Digest), []byte(digest)) != 1:
		return refused(fmt.Errorf("%w: it is not the last one that was made for this name", ErrToken), another)
	case t.User != "" && t.User != key:
		return refused(fmt.Errorf("%w: another key has used it", ErrToken), another)
	case !now.Before(t.Expires):
		return refused(fmt.Errorf("%w: %w at %s", ErrToken, ErrExpired, t.Expires.UTC().Format(time.RFC3339)), another)
	}
	next := n.Identity
	next.Token.User, next.Key, next.Former = key, key, ""
	if m := n.Machine(); m == n.Adopted && m != key {
		next.Former = m
	}
	return next.certified(now), nil
}

// certified returns the identity with a certificate that begins now.
func (i Identity) certified(now time.Time) Identity {
	i.Expires = now.Add(CertificateLife)
	return i
}

// Permit returns why a call with a key and its certificate is refused.
func (n Node) Permit(key string, expires, now time.Time) error {
	if err := n.known(key); err != nil {
		return err
	}
	if !now.Before(expires) {
		return fmt.Errorf("RunNode %s may only renew its certificate: %w at %s, and the controller's clock shows %s", n.Name, ErrExpired,
			expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// known returns an error for a key that is not that of the node, or that is revoked.
func (n Node) known(key string) error {
	switch {
	case n.Order == Revoke:
		return fmt.Errorf("RunNode %s may not call: %w", n.Name, ErrRevoked)
	case key != "" && key == n.Former && key != n.Adopted:
		return fmt.Errorf("RunNode %s may not call: %w: a person has adopted another machine in its place", n.Name, ErrUnknown)
	case key == "" || key != n.Key && key != n.Machine():
		return fmt.Errorf("RunNode %s may not call: %w: %s", n.Name, ErrUnknown, n.anew())
	}
	return nil
}

// anew tells how a machine joins anew.
func (n Node) anew() string {
	return "remove its identity.json, and join again with a token of orcon job node join " + n.Name
}

// Renew returns the identity with another certificate for a key, whose last one ends at expires.
func (n Node) Renew(key string, expires, now time.Time) (Identity, error) {
	if err := n.known(key); err != nil {
		return n.Identity, err
	}
	if last := expires.Add(RenewalGrace); !now.Before(last) {
		return n.Identity, fmt.Errorf("RunNode %s cannot renew its certificate: %w at %s: %s",
			n.Name, ErrExpired, last.UTC().Format(time.RFC3339), n.anew())
	}
	if key != n.Key {
		return n.Identity, nil
	}
	return n.certified(now), nil
}

// RenewIn returns after which time a certificate that ends then is to be renewed; 0 for now.
func RenewIn(expires, now time.Time) time.Duration {
	return max(0, expires.Add(-CertificateLife/3).Sub(now))
}
