package fleet

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// unused is a field that has no effect where it is set.
type unused struct {
	set   bool
	field string
}

// useless lists fields of a spec that have no effect in the reference chart.
func useless(e data.Entry) []data.Problem {
	var all []data.Problem
	if value(e.Spec.Cron) == "" {
		all = warnings(e, "without cron", unscheduled(e.Spec))
	} else {
		if e.Sharding.Strategy != data.Static || e.Sharding.Shards > 1 {
			all = append(all, data.Problem{Location: e.Sharding.Location, Reason: "sharding has no effect on a CronJob", Cure: "remove it"})
		}
		all = append(all, warnings(e, "on a CronJob", scheduled(e.Spec))...)
	}
	if !value(e.Spec.Cache) {
		claim := []unused{{e.Spec.Storage != nil, "storage"}, {e.Spec.StorageClassName != nil, "storageClassName"}}
		all = append(all, warnings(e, "without cache", claim)...)
	}
	if e.Spec.Logs != nil && e.Spec.Logs.GovSlack != nil {
		cure := "set gov_slack in the values of the set"
		all = append(all, data.Problem{Location: e.At("logs"), Reason: "logs.govSlack has no effect", Cure: cure})
	}
	return all
}

// scheduled lists fields that CronJobs do not have.
func scheduled(s data.Spec) []unused {
	return []unused{
		{s.Logs != nil, "logs"}, {value(s.State), "state"}, {value(s.Cache), "cache"},
		{s.ImageRef != nil, "imageRef"}, {value(s.EnvironmentAware), "environmentAware"},
	}
}

// unscheduled lists fields that only CronJobs have.
func unscheduled(s data.Spec) []unused {
	return []unused{
		{s.ConcurrencyPolicy != nil, "concurrencyPolicy"}, {s.RestartPolicy != nil, "restartPolicy"},
		{s.SuccessfulJobHistoryLimit != nil, "successfulJobHistoryLimit"}, {s.FailedJobHistoryLimit != nil, "failedJobHistoryLimit"},
	}
}

// warnings describes the fields that are set.
func warnings(e data.Entry, when string, fields []unused) []data.Problem {
	var all []data.Problem
	for _, f := range slices.DeleteFunc(fields, func(f unused) bool { return !f.set }) {
		all = append(all, data.Problem{Location: e.At(f.field), Reason: f.field + " has no effect " + when, Cure: "remove it"})
	}
	return all
}
