//go:build chaos

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// tenancy is a tenant: an application that writes rows into its database, and a number into its bag.
type tenancy struct {
	*world
	name string
	// journal is the folder in which each of its pods notes what was acknowledged.
	journal string
	// identity is that of its relation, once it leaves.
	identity string
}

// acknowledged are the times, in Unix nanoseconds, that were stored as rows and in a bag.
type acknowledged struct{ rows, writes []int64 }

// settled waits until all is as if there had been no fault, and each tenant has written since then.
func (c *city) settled(since time.Time) {
	c.t.Helper()
	for began, last := time.Now(), ""; ; <-time.After(2 * time.Second) {
		missing := c.missing(since)
		if missing == "" {
			return
		}
		if missing != last {
			c.t.Logf("%s: %s", time.Now().Format(time.TimeOnly), missing)
			last = missing
		}
		if time.Since(began) > calm {
			require.FailNow(c.t, "the cluster does not settle", missing)
		}
	}
}

// missing returns what is not as it has to be.
func (c *city) missing(since time.Time) string {
	for _, name := range slices.Sorted(maps.Keys(c.tenants)) {
		if missing := c.tenants[name].missing(c, since); missing != "" {
			return missing
		}
	}
	if missing := c.relationsMissing(); missing != "" {
		return missing
	}
	databases := slices.Sorted(maps.Keys(c.tenants))
	for _, statement := range []string{
		`SELECT datname FROM pg_database WHERE datname LIKE 'tenant-%' ORDER BY datname COLLATE "C"`,
		// A role without a database shows as itself.
		`SELECT coalesce(datname, rolname) AS owned FROM pg_roles r LEFT JOIN pg_database ON datdba = r.oid ` +
			`WHERE rolname LIKE 'relation\_%' ORDER BY coalesce(datname, rolname) COLLATE "C"`,
	} {
		if out, err := c.asks("postgres", statement); err != nil || out != strings.Join(databases, "\n") {
			return fmt.Sprintf("PostgreSQL has %q for the tenants %q: %v", out, databases, err)
		}
	}
	return c.remains()
}

// relationsMissing compares the relations and their sides with the tenants.
func (c *city) relationsMissing() string {
	var relations v1alpha1.RelationList
	var sides v1alpha1.RelationSideList
	if err := c.objects.List(c.t.Context(), &relations); err != nil {
		return err.Error()
	}
	if err := c.objects.List(c.t.Context(), &sides); err != nil {
		return err.Error()
	}
	identities := map[string]bool{}
	for _, s := range sides.Items {
		identities[s.Spec.Relation] = true
	}
	if len(relations.Items) != len(c.tenants) || len(identities) != len(c.tenants) {
		return fmt.Sprintf("%d relations, %d with sides, of %d tenants", len(relations.Items), len(identities), len(c.tenants))
	}
	return ""
}

// remains returns what names the relation of a tenant that has left, or that its password is left.
func (c *city) remains() string {
	all, err := c.try("get", "relations,relationsides,relatedapplications,relatedsecrets,databags", "-A", "-o", "yaml")
	if err != nil {
		return all
	}
	for _, o := range c.left {
		if i := strings.Index(all, o.identity); i >= 0 {
			return fmt.Sprintf("the relation of %s, which has left, is named:\n%s", o.name, all[max(0, i-2000):min(len(all), i+500)])
		}
	}
	if secrets := c.ungranted(); secrets > 0 {
		return fmt.Sprintf("%d secrets are left that no tenant may read", secrets)
	}
	return ""
}

// asks returns the answer of PostgreSQL, without what kubectl notes beside it.
func (c *city) asks(database, statement string) (string, error) {
	asks := exec.CommandContext(c.t.Context(), filepath.Join(c.Programs, "kubectl"), "--kubeconfig", c.Kubeconfig, "-n", c.namespace,
		"exec", "postgres-0", "-c", "postgres", "--", "psql", "-h", "127.0.0.1", "-U", "postgres", "-d", database, "-tAc", statement)
	out, err := asks.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.TrimRight(string(out), "\n"), err
}

// missing returns what a tenant lacks. Each of its pods is ready and has written since a moment, PostgreSQL has all rows
// that were acknowledged and none of another tenant, and the last write of each pod is read by PostgreSQL's application.
func (o *tenancy) missing(c *city, since time.Time) string {
	replicas, err := o.Field(o.t.Context(), o.namespace, "deployment/"+o.name, "{.spec.replicas}")
	if err != nil {
		return err.Error()
	}
	pods := o.alive(client.MatchingLabels{"app": o.name})
	if strconv.Itoa(len(pods)) != replicas {
		return fmt.Sprintf("%s has %d pods, not %s", o.name, len(pods), replicas)
	}
	noted := o.notes()
	for _, p := range pods {
		if missing := silent(p, noted[p.Name], since.UnixNano()); missing != "" {
			return missing
		}
	}
	if missing := o.rowsMissing(c, noted); missing != "" {
		return missing
	}
	return o.writesMissing(c, pods, noted)
}

// silent returns what a pod has not done since a moment.
func silent(p corev1.Pod, noted acknowledged, since int64) string {
	switch {
	case !ready(&p):
		return "pod " + p.Name + " is not ready"
	case len(noted.rows) == 0 || noted.rows[len(noted.rows)-1] < since:
		return "pod " + p.Name + " has written no row since the last fault"
	case len(noted.writes) == 0 || noted.writes[len(noted.writes)-1] < since:
		return "pod " + p.Name + " has written nothing into its bag since the last fault"
	default:
		return ""
	}
}

// rowsMissing compares the rows of the tenant's database with those that were acknowledged before they are read. A row that
// is lost, or another tenant's, is one whatever comes later.
func (o *tenancy) rowsMissing(c *city, noted map[string]acknowledged) string {
	have, err := c.asks(o.name, "SELECT tenant || ' ' || n FROM written")
	if err != nil {
		return o.name + " has no rows: " + err.Error()
	}
	rows := map[string]bool{}
	for line := range strings.Lines(have) {
		tenant, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		rows[n] = true
		require.Equal(c.t, o.name, tenant, "the tenant of a row in the database of "+o.name)
	}
	for pod, all := range noted {
		for _, n := range all.rows {
			require.True(c.t, rows[strconv.FormatInt(n, 10)], "%s has lost row %d of pod %s", o.name, n, pod)
		}
	}
	return ""
}

// writesMissing compares what PostgreSQL's application reads with the last writes that were acknowledged before it reads.
func (o *tenancy) writesMissing(c *city, pods []corev1.Pod, noted map[string]acknowledged) string {
	read := o.readByProvider(c)
	later := o.notes()
	for _, p := range pods {
		writes := noted[p.Name].writes
		last := writes[len(writes)-1]
		if !slices.ContainsFunc(read, func(n int64) bool { return n >= last && slices.Contains(later[p.Name].writes, n) }) {
			return fmt.Sprintf("the last write %d of pod %s is not among those that PostgreSQL's application reads: %v", last, p.Name, read)
		}
	}
	return ""
}

// readByProvider returns what the handlers' container of PostgreSQL reads from the units of the tenant.
func (o *tenancy) readByProvider(c *city) (all []int64) {
	out, _ := c.try("exec", "postgres-0", "-c", injection.HandlerContainer, "--", "sh", "-c", fmt.Sprintf(cityReads, o.name))
	for text := range strings.FieldsSeq(out) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// notes returns what the tenant's pods have noted, by pod.
func (o *tenancy) notes() map[string]acknowledged {
	all := map[string]acknowledged{}
	files, err := os.ReadDir(o.journal)
	require.NoError(o.t, err)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(o.journal, file.Name()))
		require.NoError(o.t, err)
		var of acknowledged
		for line := range strings.Lines(string(text)) {
			kind, number, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(number, 10, 64)
			require.NoError(o.t, err, line)
			if kind == "row" {
				of.rows = append(of.rows, n)
			} else {
				of.writes = append(of.writes, n)
			}
		}
		all[file.Name()] = of
	}
	return all
}

// ungranted returns how many secrets of PostgreSQL's application no tenant may read any more.
func (c *city) ungranted() (secrets int) {
	var list v1alpha1.RelatedSecretList
	require.NoError(c.t, c.objects.List(c.t.Context(), &list, client.InNamespace(c.namespace)))
	for _, s := range list.Items {
		if s.State.RemovalTime == nil && len(s.State.Access) == 0 {
			secrets++
		}
	}
	return secrets
}

// sums returns how much was acknowledged, and the longest time between two rows of a tenant.
func (c *city) sums() (rows, writes int, pause time.Duration) {
	for _, o := range slices.Concat(slices.Collect(maps.Values(c.tenants)), c.left) {
		var all []int64
		for _, of := range o.notes() {
			all = append(all, of.rows...)
			writes += len(of.writes)
		}
		rows += len(all)
		slices.Sort(all)
		for i := 1; i < len(all); i++ {
			pause = max(pause, time.Duration(all[i]-all[i-1]))
		}
	}
	return rows, writes, pause
}
