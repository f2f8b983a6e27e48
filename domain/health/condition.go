package health

import (
	"fmt"
	"slices"
	"strings"
)

// The closed lists of condition types, without what stands before a dot or a slash. summaries are
// positive when True and negative otherwise; failures and activities count when True.
//
//nolint:gochecknoglobals // tables
var (
	summaries = words(`accepted admitted allreplicasready applied artifactinstorage available clusteravailable complete
		completed componentsready configurationsready containerhealthy controlplaneready deployed elasticsearchisreachable
		established headpodready healthy infrastructureready ingressready installed namesaccepted nodeclassready offered
		operational predictorready programmed provisioned published rayclusterprovisioned ready reconciled
		reconciliationcomplete reconciliationsucceeded reconcilesuccess reconcilesucceeded released resolvedrefs
		resourcesavailable resourcesynced routesready runningdesiredversion secretsynced servicesready succeeded
		successful synced uptodate valid validated validationsucceeded verified wellformed`)
	failures = words(`abnormal aborted backofflimitexceeded buildfailed comparisonerror conflicted crashloopbackoff
		deadlineexceeded degraded denied error errored errors failed failing failure fatal fetchfailed haserrors invalid
		invalidrequest invalidspec invalidspecerror irreconcilable misconfigured reconcileerror reconcilefailed reconciliationfailed
		recoverable rejected remediated replicafailure revoked stalled storageoperationfailed syncerror terminal timedout
		unhealthy unreachable unrecoverable unschedulable`)
	activities = words(`bootstrapping creating deleting deploying initializing installing migrating notready pending
		processing progressing provisioning reconciling recovering resizing restarting rollingout rollingupdate scaling
		scalingdown scalingup terminating updating upgrading waiting`)
	// partial are the last words of types that sum up a part of an object: they count where nothing else speaks for it.
	partial     = words(`active available healthy synced synchronized uptodate`)
	suspensions = words(`hibernated paused rayclustersuspended reconciliationpaused stopped suspended`)
)

func words(text string) []string { return strings.Fields(text) }

// condition is one entry of a list of conditions.
type condition struct {
	kind, status, reason, message, severity string
	// old reports that it is about an earlier generation.
	old bool
}

// conditions returns the evidence of a list of conditions.
func (o subject) conditions(path string, value any) []Evidence {
	var all []Evidence
	for _, fields := range list(value) {
		text := func(name string) string {
			if fields[name] == nil {
				return ""
			}
			return fmt.Sprint(fields[name])
		}
		c := condition{kind: text("type"), status: text("status"), reason: text("reason"), message: text("message"), severity: text("severity")}
		observed, known := number(fields["observedGeneration"])
		c.old = known && ahead(o, observed)
		if e, found := c.evidence(path); found {
			all = append(all, e)
		}
	}
	return all
}

// evidence returns what a condition speaks for; found is false for one of no known meaning.
func (c condition) evidence(path string) (e Evidence, found bool) {
	e = Evidence{Path: path + "[" + c.kind + "]", Value: c.status, Says: c.String()}
	all := parts(c.kind[strings.LastIndexAny(c.kind, "./")+1:])
	if len(all) == 0 {
		return e, false
	}
	name := strings.Join(all, "")
	e.summary = slices.Contains(summaries, name)
	if e.Class, found = c.class(name, all[0], all[len(all)-1]); !found && c.sums(all[len(all)-1]) {
		e.Class, e.partial, e.summary, found = c.summary(), true, true, true
	}
	e.partial = e.partial || c.says() && e.Class == Positive
	if e.Class == Positive && c.old {
		e.Class, e.Says = Negative, "condition "+c.kind+" is about an earlier generation"
	}
	return e, found
}

// class returns the class of a condition by its type, which begins and ends with a word: BuildFailed.
func (c condition) class(name, begin, end string) (Class, bool) {
	isTrue := strings.EqualFold(c.status, "True")
	switch {
	case slices.Contains(summaries, name):
		return c.summary(), true
	case slices.Contains(failures, name), slices.Contains(failures, end):
		return Failure, isTrue || c.status == ""
	case slices.Contains(suspensions, name):
		return Pause, isTrue
	case acts(name, begin, end):
		return c.activity(), isTrue && !c.settled()
	case c.says():
		return word(c.status)
	}
	return c.other()
}

// sums reports whether a type ends with a word that sums up a part of the object.
func (c condition) sums(end string) bool {
	return slices.Contains(partial, end) && (strings.EqualFold(c.status, "True") || strings.EqualFold(c.status, "False"))
}

// says reports whether the status is a word of the condition's own instead of True, False or Unknown.
func (c condition) says() bool {
	return !slices.Contains([]string{"", "true", "false", "unknown"}, strings.ToLower(c.status))
}

// acts reports whether a type is that of work under way: Reconciling, UpdatingVersion, RolloutProgressing.
func acts(name, begin, end string) bool {
	return slices.Contains(activities, name) || slices.Contains(activities, end) || strings.HasSuffix(name, "inprogress") ||
		slices.Contains(activities, begin) && !achieved(end)
}

// achieved reports whether a word is that of something done: a type that ends with it is not an activity, such as
// ProvisioningSucceeded.
func achieved(part string) bool { return strings.HasSuffix(part, "ed") || slices.Contains(good, part) }

// other returns the class of a condition whose type is of no known meaning: its reason says whether it counts
// when it is False.
func (c condition) other() (Class, bool) {
	if !strings.EqualFold(c.status, "False") || c.severity == "Info" {
		return "", false
	}
	switch class, found := word(c.reason); {
	case bad(c.reason):
		return Failure, true
	case class == Pause, class == Negative && !negated(parts(c.reason)):
		return class, found
	}
	return "", false
}

// summary returns the class of a condition that sums an object up.
func (c condition) summary() Class {
	isTrue := strings.EqualFold(c.status, "True")
	switch {
	case isTrue && bad(c.reason):
		return Failure
	case isTrue:
		return Positive
	case slices.ContainsFunc(parts(c.reason), func(part string) bool { return part == "paused" || part == "suspended" }):
		return Pause
	case strings.EqualFold(c.status, "False") && c.severity != "Info" && c.fails():
		return Failure
	}
	return Negative
}

// activity returns the class of a condition that reports work under way.
func (c condition) activity() Class {
	if c.fails() {
		return Failure
	}
	return Negative
}

// settled reports whether the reason of an activity is that it has come to its end, as Deployments
// write it.
func (c condition) settled() bool {
	all := parts(c.reason)
	if len(all) == 0 || slices.Contains(all, "not") {
		return false
	}
	return slices.Contains([]string{"available", "complete", "completed", "ready", "healthy", "succeeded"}, all[len(all)-1])
}

// fails reports whether a condition names a failure, and not only what it waits for.
func (c condition) fails() bool {
	return !patient(c.message) && (bad(c.reason) || complains(c.message))
}

// String describes the condition in words that follow the object's name.
func (c condition) String() string {
	text := fmt.Sprintf("condition %s is %s", c.kind, c.status)
	if c.status == "" {
		text = "has condition " + c.kind
	}
	switch {
	case c.message != "" && c.reason != "":
		return fmt.Sprintf("%s (%s): %s", text, c.reason, c.message)
	case c.message != "":
		return text + ": " + c.message
	case c.reason != "":
		return fmt.Sprintf("%s (%s)", text, c.reason)
	}
	return text
}
