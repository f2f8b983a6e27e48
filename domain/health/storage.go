package health

func claim(o subject) Verdict {
	switch o.text("status", "phase") {
	case "Bound":
		return ready()
	case "Lost":
		return ends("lost its volume: volume " + o.text("spec", "volumeName") + " is not there any more")
	}
	return waits("it is not bound to a volume yet")
}

func volume(o subject) Verdict {
	switch phase := o.text("status", "phase"); phase {
	case "Available", "Bound", "Released":
		return ready()
	case "Failed":
		return fails("its volume failed: " + o.text("status", "message"))
	}
	return waits("is not available yet")
}
