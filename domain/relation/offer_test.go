package relation_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// However often namespaces are made, deleted and made again: an Offer covers a namespace if it is the first of its name
// that the Offer has seen, and no other; what was seen is never replaced, and is recorded once (TRUST.md T8).
func TestAnOfferIsToTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"shop", "office", "lab"}
		o := relation.Offer{Namespace: "bank", Name: "all", Application: "vault", Endpoint: "main"}
		for _, name := range names[:2] {
			o.Consumers = append(o.Consumers, relation.Namespace{Name: name})
		}
		there, first := map[string]string{}, map[string]string{}
		for i, replaced := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(t, "namespaces") {
			there[replaced] = ""
			if rapid.Bool().Draw(t, "made again") {
				there[replaced] = string(rune('a' + i))
			}
			if rapid.Bool().Draw(t, "the controller is away") {
				continue
			}
			consumers, differs := o.Admit(func(name string) string { return there[name] })
			assert.Equal(t, !slices.Equal(consumers, o.Consumers), differs)
			o.Consumers = consumers
			for _, name := range names[:2] {
				if first[name] == "" {
					first[name] = there[name]
				}
			}
			_, again := o.Admit(func(name string) string { return there[name] })
			assert.False(t, again, "once")
			for _, name := range names {
				n := relation.Namespace{Name: name, UID: there[name]}
				assert.Equal(t, n.UID != "" && n.UID == first[name], o.Covers(n))
				assert.Equal(t, n.UID != "" && first[name] != "" && n.UID != first[name], o.Outlived(n))
			}
		}
	})
}

// A relation is open under the Offers of its provider's namespace if one covers the namespace of its requirer, and
// both are those that it was opened between.
func TestUnderOffers(t *testing.T) {
	now := func(name string) string { return map[string]string{"shop": "shop-1", "bank": "bank-1"}[name] }
	offer := func(consumer relation.Namespace) []relation.Offer {
		return []relation.Offer{{Namespace: "bank", Name: "all", Application: "vault", Endpoint: "main", Consumers: []relation.Namespace{consumer}}}
	}
	tests := map[string]struct {
		offers []relation.Offer
		state  relation.State
		opens  bool
	}{
		"Recorded":             {offer(relation.Namespace{Name: "shop", UID: "shop-1"}), relation.State{Offer: "another"}, true},
		"MadeAgain":            {offer(relation.Namespace{Name: "shop", UID: "shop-0"}), relation.State{Offer: "all"}, false},
		"OfAnotherName":        {offer(relation.Namespace{Name: "lab", UID: "shop-1"}), relation.State{Offer: "all"}, false},
		"OpenedBeforeRecorded": {offer(relation.Namespace{Name: "shop"}), relation.State{Offer: "all"}, true},
		"NotRecorded":          {offer(relation.Namespace{Name: "shop"}), relation.State{Offer: "another"}, false},
		"SameProvider":         {offer(relation.Namespace{Name: "shop", UID: "shop-1"}), relation.State{Offer: "all", ProviderUID: "bank-1"}, true},
		"ProviderMadeAgain":    {offer(relation.Namespace{Name: "shop", UID: "shop-1"}), relation.State{Offer: "all", ProviderUID: "bank-0"}, false},
		"NoOffer":              {nil, relation.State{Offer: "all"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := relation.Relation{Key: relation.Key{
				Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
				Provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
			}, State: test.state}
			assert.Equal(t, test.opens, r.Under(test.offers, now).Open())
			gone := func(string) string { return "" }
			assert.False(t, r.Under(offer(relation.Namespace{Name: "shop", UID: "shop-1"}), gone).Open(), "no namespace is none that was recorded")
		})
	}
}

// Whatever is stored, a namespace without UID, or with one that is not recorded, is never covered.
func FuzzCovers(f *testing.F) {
	f.Add("shop", "1", "shop", "2")
	f.Add("shop", "", "shop", "")
	f.Fuzz(func(t *testing.T, name, recorded, asks, uid string) {
		o := relation.Offer{Consumers: []relation.Namespace{{Name: name, UID: recorded}}}
		covers := o.Covers(relation.Namespace{Name: asks, UID: uid})
		assert.Equal(t, name == asks && recorded == uid && uid != "", covers)
		assert.False(t, covers && o.Outlived(relation.Namespace{Name: asks, UID: uid}))
	})
}
