package agent

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// Identity holds key and certificate of an agent, and how it reaches the controller. It is a file of mode 0600.
type Identity struct {
	// Address is the URL of the controller, Node the name of the RunNode.
	Address string `json:"address"`
	Node    string `json:"node"`
	// Key is the private key, Certificate that of the node ("" before it has joined), Authorities those to trust: PEM.
	Key         string `json:"key"`
	Certificate string `json:"certificate,omitempty"`
	Authorities string `json:"authorities,omitempty"`
	// Recipient is the public key to which is encrypted what waits for the controller; "" for none.
	Recipient string `json:"recipient,omitempty"`

	file string
}

// The names of blocks of PEM.
const (
	blockKey         = "PRIVATE KEY"
	blockCertificate = "CERTIFICATE"
)

// Load reads the identity of a file; nil if there is none.
func Load(file string) (*Identity, error) {
	text, err := os.ReadFile(filepath.Clean(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	i := &Identity{file: file}
	if err == nil {
		err = json.Unmarshal(text, i)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the identity of this node in %s: %w: remove it, and join anew", file, err)
	}
	return i, nil
}

// New returns an identity with a new key for an invitation, and stores it: an agent that is started again joins by the
// same key.
func New(file string, of node.Invitation) (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a key: %w", err)
	}
	i := &Identity{
		Address: of.Address, Node: of.Node, Key: string(pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der})), file: file,
	}
	return i, i.store()
}

// store writes the file, whole or not at all, and so that it outlives a loss of power.
func (i *Identity) store() error {
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("cannot store the identity of this node: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(i.file), ".identity-") // of mode 0600
	if err == nil {
		defer os.Remove(file.Name()) //nolint:errcheck // it is gone where all went well
		_, err = file.Write(text)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = os.Rename(file.Name(), i.file)
	}
	if err != nil {
		return fmt.Errorf("cannot store the identity of this node: %w", err)
	}
	return nil
}

// with returns the identity with another certificate, and stores it.
func (i *Identity) with(c *wire.Certificate) (*Identity, error) {
	next := *i
	next.Certificate, next.Authorities = string(c.GetCertificate()), string(c.GetAuthorities())
	return &next, next.store()
}

// trusting returns the identity with the authorities to trust and the recipient of an answer, and stores it if they differ.
func (i *Identity) trusting(m *wire.SyncResponse) (*Identity, error) {
	next := *i
	next.Authorities, next.Recipient = cmp.Or(string(m.GetAuthorities()), i.Authorities), m.GetRecipient()
	if next == *i {
		return i, nil
	}
	return &next, next.store()
}

// Invited returns the identity by which a node joins that has not, in a file. Its key stays as long as the invitation is
// for the same node: the answer may have been lost, and a person may have adopted the key.
func (i *Identity) Invited(file string, by node.Invitation) (*Identity, error) {
	if i == nil || i.Node != by.Node {
		return New(file, by)
	}
	if i.Address == by.Address {
		return i, nil
	}
	next := *i
	next.Address = by.Address
	return &next, next.store()
}

// Joined reports whether the node has a certificate.
func (i *Identity) Joined() bool { return i != nil && i.Certificate != "" }

// pair returns certificate and key.
func (i *Identity) pair() (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair([]byte(i.Certificate), []byte(i.Key))
	if err != nil {
		return nil, fmt.Errorf("cannot use the identity of this node: %w", err)
	}
	return &pair, nil
}

// request returns a certificate request in DER.
func (i *Identity) request() ([]byte, error) {
	key, err := i.private()
	if err != nil {
		return nil, err
	}
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: i.Node}}, key)
}

// private returns the private key.
func (i *Identity) private() (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(i.Key))
	if block == nil {
		return nil, errors.New("cannot use the identity of this node: it has no key: remove it, and join anew")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cannot use the key of this node: %w: remove its identity, and join anew", err)
	}
	key, is := parsed.(*ecdsa.PrivateKey)
	if !is {
		return nil, errors.New("cannot use the key of this node: it is of another kind: remove its identity, and join anew")
	}
	return key, nil
}

// Fingerprint returns the digest of the key, by which a person adopts it.
func (i *Identity) Fingerprint() (string, error) {
	key, err := i.private()
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", fmt.Errorf("cannot encode the key of this node: %w", err)
	}
	return node.Digest(der), nil
}
