package health

import "fmt"

// replicas are the counts of a workload.
type replicas struct{ want, all, updated, ready, available int64 }

func replicasOf(o subject) replicas {
	return replicas{
		want: o.count(1, "spec", "replicas"), all: o.count(0, "status", "replicas"), updated: o.count(0, "status", "updatedReplicas"),
		ready: o.count(0, "status", "readyReplicas"), available: o.count(0, "status", "availableReplicas"),
	}
}

// lacks describes what have lacks of want; empty if nothing.
func lacks(have, want int64, state string) string {
	if have >= want {
		return ""
	}
	return fmt.Sprintf("%d of %d pods are %s", have, want, state)
}

// firstOf returns the verdict for the first text that is not empty.
func firstOf(texts ...string) Verdict {
	for _, says := range texts {
		if says != "" {
			return waits(says)
		}
	}
	return ready()
}

// surplus describes pods that are still to end.
func (r replicas) surplus() string {
	if r.all <= r.want {
		return ""
	}
	return fmt.Sprintf("old pods still run: %d", r.all-r.want)
}

func deployment(o subject) Verdict {
	progressing, available := o.condition("Progressing"), o.condition("Available")
	failure := o.condition("ReplicaFailure")
	r := replicasOf(o)
	switch {
	case progressing.reason == "ProgressDeadlineExceeded":
		return ends("made no progress in time: " + progressing.message)
	case o.at("spec", "paused") == true:
		return suspended("is paused: spec.paused is true")
	case failure.status == "True":
		return fails(failure.message)
	}
	v := firstOf(lacks(r.all, r.want, "created"), lacks(r.updated, r.want, "updated"), r.surplus(),
		lacks(r.available, r.updated, "available"), lacks(r.ready, r.want, "ready"))
	switch {
	case v.State != Ready:
		return v
	case o.at("spec", "progressDeadlineSeconds") != nil && (progressing.status != "True" || progressing.reason != "NewReplicaSetAvailable"):
		return waits("its new pods are not all available yet")
	case available.status != "True":
		return waits("is not available")
	}
	return v
}

func statefulSet(o subject) Verdict {
	r := replicasOf(o)
	v := firstOf(lacks(r.all, r.want, "created"), lacks(r.ready, r.want, "ready"), r.surplus())
	if v.State != Ready || o.text("spec", "updateStrategy", "type") == "OnDelete" {
		return v
	}
	partition := o.count(0, "spec", "updateStrategy", "rollingUpdate", "partition")
	v = firstOf(lacks(r.updated, r.want-partition, "updated"))
	current, update := o.text("status", "currentRevision"), o.text("status", "updateRevision")
	if v.State == Ready && partition == 0 && current != update {
		return waits("its update has not come to its end yet")
	}
	return v
}

func daemonSet(o subject) Verdict {
	count := func(name string) int64 { return o.count(0, "status", name) }
	if o.at("status", "observedGeneration") == nil || o.at("status", "desiredNumberScheduled") == nil {
		return waits("its pods are not counted yet")
	}
	want := count("desiredNumberScheduled")
	updated := lacks(count("updatedNumberScheduled"), want, "updated")
	if o.text("spec", "updateStrategy", "type") == "OnDelete" {
		updated = ""
	}
	return firstOf(lacks(count("currentNumberScheduled"), want, "created"), updated,
		lacks(count("numberAvailable"), want, "available"), lacks(count("numberReady"), want, "ready"))
}

func replicaSet(o subject) Verdict {
	if failure := o.condition("ReplicaFailure"); failure.status == "True" {
		return fails(failure.message)
	}
	r := replicasOf(o)
	return firstOf(lacks(o.count(r.all, "status", "fullyLabeledReplicas"), r.want, "created"),
		lacks(r.available, r.want, "available"), lacks(r.ready, r.want, "ready"), r.surplus())
}

// pod judges a Pod that runs once as a Job: by its end.
func pod(o subject) Verdict {
	once := o.text("spec", "restartPolicy") == "Never" || o.text("spec", "restartPolicy") == "OnFailure" ||
		o.at("metadata", "annotations", "helm.sh/hook") != nil
	is := o.condition("Ready")
	says := "is not ready yet"
	if is.message != "" {
		says = "is not ready: " + is.message
	}
	switch phase := o.text("status", "phase"); {
	case phase == "Succeeded":
		return ready()
	case phase == "Failed":
		return ends("its pod failed: " + firstText(o.text("status", "message"), o.text("status", "reason"), "see the log of its containers"))
	case once && phase == "Running":
		return waits("runs, and is ready when it has succeeded")
	case is.status == "True" && phase == "Running":
		return ready()
	}
	return waits(says)
}

// job judges a Job by its conditions. Of one that runs, others count what has completed.
func job(o subject) Verdict {
	failed := o.condition("Failed")
	switch {
	case o.condition("Complete").status == "True":
		return ready()
	case failed.status == "True":
		return ends(firstText(failed.message, failed.reason))
	case o.at("spec", "suspend") == true:
		return suspended("is suspended: spec.suspend is true")
	}
	return waits("")
}

func cronJob(o subject) Verdict {
	if o.at("spec", "suspend") == true {
		return suspended("is suspended: spec.suspend is true")
	}
	return ready()
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
