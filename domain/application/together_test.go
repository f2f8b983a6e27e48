package application_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// What several objects of an application write for one endpoint is one databag, which keeps the limits as a whole: it could
// not be stored otherwise (RELATIONS.md P6, TRUST.md T10).
func TestDataTogetherKeepsTheLimits(t *testing.T) {
	keys := func(prefix string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "%s%d: x\n", prefix, i)
		}
		return text.String()
	}
	tests := map[string]struct {
		workload, service string
		fits              bool
	}{
		"Keys":    {workload: keys("a", 512), service: keys("b", 512), fits: true},
		"TooMany": {workload: keys("a", 513), service: keys("b", 512)},
		"Encoded": {
			workload: "a: " + strings.Repeat("<", 60<<10) + "\nb: " + strings.Repeat("<", 60<<10),
			service:  "c: " + strings.Repeat("<", 60<<10) + "\nd: " + strings.Repeat("<", 60<<10),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"app": "db"}
			in := application.Inventory{
				Namespace: "shop",
				Workloads: []application.Workload{{
					Object: application.Object{Name: "db"}, Kind: application.Deployment, TemplateLabels: labels,
					TemplateAnnotations: map[string]string{application.KeyProvides: "main:pg", application.PrefixData + "main": test.workload},
				}},
				Services: []application.Service{{
					Object: application.Object{
						Name: "data", Annotations: map[string]string{application.PrefixData + "main": test.service},
					}, Selector: labels,
				}},
			}
			all, _ := application.Gather(in)
			require.Len(t, all, 1)
			if test.fits {
				assert.Empty(t, all[0].Faults)
				assert.Len(t, all[0].Bags["main"], 1024)
				return
			}
			require.Len(t, all[0].Faults, 1)
			assert.Contains(t, all[0].Faults[0].Message,
				"data.tengu.io/main: the data of all objects of application \"db\" together: a databag has at most")
			assert.Nil(t, databag.CheckSize(all[0].Bags["main"]))
			assert.Nil(t, all[0].Bags["main"], "it is refused whole, and what is stored stays")
		})
	}
}
