package application_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// An endpoint grants one Secret, whichever object of the application names it; one for
// an endpoint that nobody declares is a slip of the pen (SAFETY.md S1).
func TestAnEndpointGrantsOneSecret(t *testing.T) {
	const granted = application.PrefixSecret + "http"
	front := func(more ...string) application.Service {
		return selecting("front", 0, "web", append([]string{provides, "http"}, more...)...)
	}
	tests := map[string]struct {
		why       string
		workload  application.Workload
		service   application.Service
		want      map[string]string
		faultsAre string
	}{
		"Service":  {why: "as its data", workload: workload(application.Deployment, "web", 0), service: front(granted, "mine"), want: map[string]string{"http": "mine"}},
		"Workload": {why: "as its data", workload: workload(application.Deployment, "web", 0, granted, "mine"), service: front(), want: map[string]string{"http": "mine"}},
		"Both":     {why: "they agree", workload: workload(application.Deployment, "web", 0, granted, "mine"), service: front(granted, "mine"), want: map[string]string{"http": "mine"}},
		"Two": {why: "which is meant nobody can know", workload: workload(application.Deployment, "web", 0, granted, "mine"), service: front(granted, "yours"),
			want: map[string]string{"http": "mine"}, faultsAre: `Service/front: secret.tengu.io/http: another object of application "web" names Secret mine; name one Secret`},
		"Nobody": {why: "the endpoint is declared nowhere", workload: workload(application.Deployment, "web", 0, application.PrefixSecret+"htpp", "mine"), service: front(),
			want: map[string]string{"htpp": "mine"}, faultsAre: `secret.tengu.io/htpp: application "web" declares no endpoint "htpp"; declare it, or remove the Secret`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			apps, _ := application.Gather(application.Inventory{Namespace: "shop", Workloads: []application.Workload{test.workload}, Services: []application.Service{test.service}})
			require.Len(t, apps, 1)
			assert.Equal(t, test.want, apps[0].Secrets, test.why)
			faults := ""
			for _, f := range apps[0].Faults {
				faults += f.Message
			}
			assert.Equal(t, test.faultsAre, faults, test.why)
		})
	}
}
