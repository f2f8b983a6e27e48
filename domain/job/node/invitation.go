package node

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Invitation is all that an agent needs to join: a person gives it to the agent as one word.
type Invitation struct {
	// Address is the URL of the controller.
	Address string `json:"address"`
	// Node is the name for which the secret is good.
	Node   string `json:"node"`
	Secret string `json:"secret"`
	// Authorities are the digests of the authorities by which the controller's certificate may be signed.
	Authorities []string `json:"authorities"`
}

// invitationPrefix begins each invitation, so that a person and a scanner of secrets know it.
const invitationPrefix = "orcon-node."

// String returns the invitation as one word.
func (i Invitation) String() string {
	text, _ := json.Marshal(i) //nolint:gosec,errchkjson // it is what a token is for; strings can always be written
	return invitationPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// ParseInvitation reads an invitation. Its errors never quote it.
func ParseInvitation(text string) (Invitation, error) {
	var i Invitation
	encoded, is := strings.CutPrefix(strings.TrimSpace(text), invitationPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(raw, &i)
	}
	if !is || err != nil {
		return Invitation{}, errors.New("the token cannot be read: use the whole word that orcon job node join printed")
	}
	host, secure := strings.CutPrefix(i.Address, "https://")
	if !secure || host == "" || i.Node == "" || i.Secret == "" || len(i.Authorities) == 0 {
		return Invitation{}, fmt.Errorf("the token for RunNode %q is not complete: make another one by orcon job node join", i.Node)
	}
	return i, nil
}
