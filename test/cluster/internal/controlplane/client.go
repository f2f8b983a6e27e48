package controlplane

import (
	"fmt"
	"os"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/pki"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/rest"
)

// newAdmin makes a client with the rights of an administrator.
func (p Plan) newAdmin(authority *pki.Authority) (*rest.Client, error) {
	leaf, err := authority.Issue(pki.Subject{User: "supervisor", Group: "system:masters"})
	if err != nil {
		return nil, err
	}
	return rest.New(p.URL(), authority.PEM(), leaf)
}

// newProbe makes a client that trusts one authority file and shows one
// certificate, or none if leaf is empty.
func (p Plan) newProbe(authority, leaf string) (*rest.Client, error) {
	trusted, err := os.ReadFile(p.Dir.PKI(authority))
	if err != nil {
		return nil, fmt.Errorf("cannot read authority: %w", err)
	}
	if leaf == "" {
		return rest.New("", trusted, pki.Leaf{})
	}
	certificate, err := os.ReadFile(p.Dir.PKI(leaf + ".crt"))
	if err != nil {
		return nil, fmt.Errorf("cannot read certificate: %w", err)
	}
	key, err := os.ReadFile(p.Dir.PKI(leaf + ".key"))
	if err != nil {
		return nil, fmt.Errorf("cannot read key: %w", err)
	}
	return rest.New("", trusted, pki.Leaf{Certificate: certificate, Key: key})
}
