package removal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// A JobWorkspace or JobRun that is being deleted waits for the controller of stateful runs, and goes without it if Orcon
// leaves (JOBS.md J18).
func TestReleaseJobs(t *testing.T) {
	for name, ready := range map[string]int32{"Away": 0, "Runs": 1} {
		t.Run(name, func(t *testing.T) {
			going := func(name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{
					Namespace: "shop", Name: name, Finalizers: []string{jobv1alpha1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)},
				}
			}
			db, run := &jobv1alpha1.JobWorkspace{ObjectMeta: going("db")}, &jobv1alpha1.JobRun{ObjectMeta: going("one")}
			stays := &jobv1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "two", Finalizers: []string{jobv1alpha1.Finalizer}}}
			w := newWorld(t, db, run, stays, controller(JobController, ready), definition("relations"))
			held, err := (Holds{w.Cluster}).List(t.Context(), time.Now())
			require.NoError(t, err)
			var names []string
			for _, one := range held {
				names = append(names, one.Name+": "+one.Leaves)
			}
			if ready == 0 {
				assert.Equal(t, []string{
					"JobWorkspace shop/db: what its runs have made stays, and so do its states in the store",
					"JobRun shop/one: its pod stays if it still runs, and its end is not known",
				}, names)
			} else {
				assert.Empty(t, names, "the controller lets them go")
			}
			w.lets()
			for _, o := range []client.Object{db, run} {
				gone := apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
				assert.Equal(t, ready == 0, gone, o.GetName())
			}
			require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(stays), stays))
			assert.NotEmpty(t, stays.Finalizers)
		})
	}
}

// JobWorkspaces are listed in all namespaces, whether they go or not: their states go with Orcon's.
func TestWorkspaces(t *testing.T) {
	at := func(namespace string) client.Object {
		return &jobv1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"}}
	}
	names, err := newWorld(t, at("shop"), at("bank")).Workspaces(t.Context())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"shop/db", "bank/db"}, names)
}
