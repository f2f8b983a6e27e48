package health

import "fmt"

func namespace(o subject) Verdict {
	if o.text("status", "phase") == "Active" {
		return ready()
	}
	return waits("is not active")
}

func definition(o subject) Verdict {
	names, structural := o.condition("NamesAccepted"), o.condition("NonStructuralSchema")
	switch {
	case names.status == "False":
		return fails("its names are not accepted: " + names.message)
	case structural.status == "True":
		return waits("its schema is not structural: " + structural.message)
	case o.condition("Established").status == "True" && names.status == "True":
		return ready()
	}
	return waits("is not served yet")
}

func apiService(o subject) Verdict {
	available := o.condition("Available")
	switch {
	case available.status == "True":
		return ready()
	case bad(available.reason):
		return fails(available.String())
	}
	return waits(firstText(available.message, "is not available yet"))
}

// autoscaler fails only for what waiting does not cure: metrics of new pods come late.
func autoscaler(o subject) Verdict {
	able, active := o.condition("AbleToScale"), o.condition("ScalingActive")
	switch {
	case able.status == "False":
		return fails(able.String())
	case active.status == "False" && active.reason != "ScalingDisabled":
		return waits(active.String())
	case able.status == "" || active.status == "":
		return waits("has not looked at its target yet")
	}
	return ready()
}

func budget(o subject) Verdict {
	have, want := o.count(0, "status", "currentHealthy"), o.count(0, "status", "desiredHealthy")
	allowed := o.condition("DisruptionAllowed")
	switch {
	case o.at("status", "observedGeneration") == nil:
		return waits("its pods are not counted yet")
	case have < want:
		return waits(fmt.Sprintf("%d of %d pods are healthy", have, want))
	case allowed.status == "False" && bad(allowed.reason):
		return fails(allowed.String())
	}
	return ready()
}
