// Package stale holds the copy of an application's data with which its pods may start while Orcon is away
// (TRUST.md A1): what may be in one, its text, and what an agent reads of it.
//
// What must not come in: which relations are complete and open, which the negotiation decides, and where a copy is
// stored.
package stale

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Copy lists the data that pods of an application get of its complete relations.
type Copy struct {
	// Items are in order of id.
	Items []Item `json:"relations,omitempty"`
}

// Item holds the data that a pod gets of one relation.
type Item struct {
	// Relation is its identity, and ID its number in the namespace.
	Relation string `json:"relation"`
	ID       int    `json:"id"`
	// Endpoint is the application's own.
	Endpoint  string `json:"endpoint"`
	Interface string `json:"interface"`
	// Provider is the other application as the namespace names it.
	Provider string           `json:"provider"`
	Data     conversation.Bag `json:"data"`
}

// Of returns the copy that has items, in any order.
func Of(items []Item) Copy {
	c := Copy{Items: slices.Clone(items)}
	slices.SortFunc(c.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), strings.Compare(a.Relation, b.Relation))
	})
	return c
}

// Withheld returns the first key of a bag, in order, that keeps it out of a copy: its value refers to a secret, or the
// interface names the field as one. It is empty if the bag may be copied.
func Withheld(bag conversation.Bag, secrets []string) string {
	first := ""
	for key, value := range bag {
		if (strings.HasPrefix(value, secret.Reference("")) || slices.Contains(secrets, key)) && (first == "" || key < first) {
			first = key
		}
	}
	return first
}

// Empty reports whether nothing is in the copy.
func (c Copy) Empty() bool { return len(c.Items) == 0 }

// Holds reports whether a relation is in the copy.
func (c Copy) Holds(relation string) bool {
	_, there := c.Of(relation)
	return there
}

// Of returns what the copy has of a relation.
func (c Copy) Of(relation string) (item Item, there bool) {
	i := slices.IndexFunc(c.Items, func(i Item) bool { return i.Relation == relation })
	if i < 0 {
		return Item{}, false
	}
	return c.Items[i], true
}

// Equal reports whether both have the same items.
func (c Copy) Equal(d Copy) bool {
	return slices.EqualFunc(c.Items, d.Items, func(a, b Item) bool { return reflect.DeepEqual(a, b) })
}

// Text returns the copy as it is stored. Equal copies have equal texts.
func (c Copy) Text() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("cannot write the copy: %w", err)
	}
	return string(text), nil
}

// MaxStored limits the bytes that the copies of one ConfigMap have together, as Kubernetes encodes them.
const MaxStored = databag.MaxEncoded

// Size returns how many bytes the copy has as Kubernetes encodes it; 0 if it is empty, and not stored.
func (c Copy) Size() int {
	text, err := c.Text()
	if err != nil || c.Empty() {
		return 0
	}
	return databag.EncodedText(text)
}

// Parse reads what Text wrote.
func Parse(text string) (Copy, error) {
	var c Copy
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return Copy{}, fmt.Errorf("cannot read the copy: %w", err)
	}
	return Of(c.Items), nil
}

// View returns the copy as an agent knows its relations. All of them are complete.
func (c Copy) View() conversation.View {
	contents := conversation.BagMap{}
	view := conversation.View{Bags: contents}
	for _, i := range c.Items {
		view.Relations = append(view.Relations, conversation.Relation{
			UID: i.Relation, ID: i.ID, Endpoint: i.Endpoint, Role: application.Requirer, Interface: i.Interface,
			Remote: i.Provider, Life: conversation.Alive, RemoteBag: contents.Put(i.Data), Complete: true,
		})
	}
	return view
}
