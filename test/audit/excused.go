package main

// excused returns the reasons for which rights were not used, or requests forbidden, that are as they have to be. Some
// happen by chance: it is no fault if they were used.
func excused() map[string]string {
	return map[string]string{
		"bundle-controller delete bundlerevisions.orcon.tengu.io":              "more revisions than a deployment keeps, which no story makes",
		"bundle-controller patch events in orcon-system":                       "the lease changes hands twice within minutes",
		"bundle-controller patch events.events.k8s.io":                         "an Event that repeats is counted",
		"bundle-controller update bundledeployments/finalizers.orcon.tengu.io": "admission plugin OwnerReferencesPermissionEnforcement, which the cluster lacks",
		"job-controller delete jobruns.orcon.tengu.io":                         "more runs than a workspace keeps, which no story makes",
		"job-controller delete leases.coordination.k8s.io in orcon-system":     "a run that was not renewed for a day",
		"job-controller patch events in orcon-system":                          "the lease changes hands twice within minutes",
		"job-controller patch pods":                                            "a run that goes on while the authority is replaced",
		"job-controller update jobruns/status.orcon.tengu.io":                  "policy orcon-job-state lets only those write states who have it",
		"job-controller update jobworkspaces/status.orcon.tengu.io":            "policy orcon-job-state lets only those write states who have it",
		"job-controller update runnodes/status.orcon.tengu.io":                 "policy orcon-job-state lets only those write states who have it",
		"relations-controller patch events.events.k8s.io":                      "an Event that repeats is counted",
		"relations-controller delete relatedsecrets.orcon.tengu.io":            "a secret that its owner removes, with the same role in TestControllerKeepsSecrets",
		"relations-controller update databags/status.orcon.tengu.io":           "a databag that cannot be read, with the same role in TestControllerGoesOnBesideTheUnreadable",
		"job-controller get secrets e2e/account-outputs":                       "TestRunsAreJobs/Secrets shows what a run waits for before the namespace permits it",
		"job-controller get secrets shop/account":                              "TestNode shows what a run on a machine waits for before the namespace permits it",
		"relations-controller get secrets granting/orders-db-admin":            "TestDocs/share-a-secret.md relates before the namespace opens its Secret (SAFETY.md S1)",
	}
}
