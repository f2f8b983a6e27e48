package simulation

import (
	"fmt"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// foreign is an endpoint of another namespace: its application says its host, has no
// units, and is there whether it is offered or not.
type foreign struct {
	iface   string
	offered bool
}

// offer has another namespace consent to relations with one of its endpoints.
func offer(w *world, s step) error {
	e, err := parseEnd(s.words["PROVIDER"])
	if err != nil {
		return err
	}
	if e.Namespace == namespace {
		return fmt.Errorf("%s is of this namespace: write application.namespace:endpoint", e)
	}
	w.abroad[e] = foreign{iface: s.words["INTERFACE"], offered: true}
	return w.rest()
}

// withdraw has it consent no more.
func withdraw(w *world, s step) error {
	e, err := parseEnd(s.words["PROVIDER"])
	if err != nil {
		return err
	}
	there, known := w.abroad[e]
	if !known {
		return fmt.Errorf("no offer of %s exists", s.words["PROVIDER"])
	}
	there.offered = false
	w.abroad[e] = there
	return w.rest()
}

// observeAbroad returns the controller's view of other namespaces.
func (s *store) observeAbroad() (all []relation.Abroad) {
	for e, there := range s.abroad {
		at := relation.Abroad{
			Namespace: e.Namespace, UID: uidOf(e.Namespace), OptedIn: true,
			Records: []relation.Record{{Name: e.Application, State: relation.ApplicationState{
				Endpoints: []application.Endpoint{{Name: e.Endpoint, Role: application.Provider, Interface: there.iface}},
			}}},
			Databags: []relation.Databag{{Application: e.Application, Endpoint: e.Endpoint, Data: hostOf(e)}},
		}
		if there.offered {
			at.Offers = []relation.Offer{{
				Namespace: e.Namespace, Name: e.Endpoint, Application: e.Application, Endpoint: e.Endpoint,
				Consumers: []relation.Namespace{{Name: namespace, UID: uidOf(namespace)}},
			}}
		}
		at.Sides = sidesAbroad(values(s.relations), e, s.now)
		all = append(all, at)
	}
	return all
}

// uidOf returns the UID of a namespace: none is made again in a scenario.
func uidOf(namespace string) string { return "uid-" + namespace }

// sidesAbroad returns the sides that another namespace keeps of relations with one of its endpoints. It takes note of
// an end at once.
func sidesAbroad(relations []kept, e relation.End, now time.Time) (all []relation.Side) {
	for _, r := range relations {
		if r.Provider != e || r.State.Offer == "" {
			continue
		}
		side := relation.Side{Key: r.Key, Role: application.Provider, Relation: r.UID, ID: r.State.ID}
		if r.Ended() {
			side.Teardown = &relation.Teardown{Since: now, Reason: r.State.EndReason}
		}
		all = append(all, side)
	}
	return all
}

func hostOf(e relation.End) map[string]string {
	return map[string]string{"host": strings.Join([]string{e.Application, e.Namespace}, ".")}
}
