package negotiation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// at is the time of the tables.
func at() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

// inShop returns an end in namespace shop.
func inShop(app, endpoint string) relation.End {
	return relation.End{Namespace: "shop", Application: app, Endpoint: endpoint}
}

// related returns a relation of web:store with db:main in shop.
func related(change func(*relation.Relation)) relation.Relation {
	r := relation.Relation{
		Key: relation.Key{Requirer: inShop("web", "store"), Provider: inShop("db", "main")}, Name: "web-db", UID: "uid-1", Interface: "pg",
		State: relation.State{ID: 1},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// recordOf returns the record of an application with units and the highest id that it holds.
func recordOf(name string, units ...application.Unit) relation.Record {
	return relation.Record{Name: name, UID: "uid-" + name, State: relation.ApplicationState{Units: units, NextUnit: len(units)}}
}
