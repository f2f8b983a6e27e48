package application_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// What a Service says by itself (RELATIONS.md, Declarations).
func TestDerivedData(t *testing.T) {
	port := func(name string, number int, protocol string) application.Port {
		return application.Port{Name: name, Number: number, Protocol: protocol}
	}
	tests := map[string]struct {
		why   string
		ports []application.Port
		want  map[string]string
	}{
		"None":       {"without a port there is only the host", nil, map[string]string{"host": "db.shop.svc"}},
		"Unnamed":    {"one port need not have a name", []application.Port{port("", 5432, "")}, map[string]string{"host": "db.shop.svc", "port": "5432", "ports": "5432", "url": "tcp://db.shop.svc:5432"}},
		"Several":    {"the first is the port, all are the ports", []application.Port{port("web", 8080, "http"), port("admin", 9, "")}, map[string]string{"host": "db.shop.svc", "port": "8080", "ports": "web=8080,admin=9", "url": "http://db.shop.svc:8080"}},
		"ByProtocol": {"appProtocol says the scheme", []application.Port{port("x", 1, "grpc")}, map[string]string{"host": "db.shop.svc", "port": "1", "ports": "x=1", "url": "grpc://db.shop.svc:1"}},
		"ByName":     {"so does the port's name", []application.Port{port("postgresql", 1, "")}, map[string]string{"host": "db.shop.svc", "port": "1", "ports": "postgresql=1", "url": "postgresql://db.shop.svc:1"}},
		"ByPrefix":   {"or how it begins, as meshes have it", []application.Port{port("https-main", 1, "")}, map[string]string{"host": "db.shop.svc", "port": "1", "ports": "https-main=1", "url": "https://db.shop.svc:1"}},
		"ByNumber":   {"or a number that everybody knows", []application.Port{port("", 443, "")}, map[string]string{"host": "db.shop.svc", "port": "443", "ports": "443", "url": "https://db.shop.svc:443"}},
		"Eighty":     {"that one too", []application.Port{port("", 80, "")}, map[string]string{"host": "db.shop.svc", "port": "80", "ports": "80", "url": "http://db.shop.svc:80"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := application.Service{Object: object("db", 0, pairs([]string{provides, "main"})), Ports: test.ports}
			apps, _ := application.Gather(application.Inventory{Namespace: "shop", Services: []application.Service{s}})
			require.Len(t, apps, 1)
			assert.Equal(t, test.want, apps[0].Bags["main"], test.why)
		})
	}
}
