package simulation

// verbs are all steps. A word in capitals stands for one word of the step, one
// that ends with "…" for the rest.
func verbs() []verb {
	return append(actions(), expectations()...)
}

// actions are the steps in which something happens.
func actions() []verb {
	return []verb{
		{"apply FILE", "apply the manifests of a file below the steps; workloads get their pods", apply},
		{"refuse apply FILE", "the same, and it must be refused; > what is said", refuseApply},
		{"delete KIND NAME", "delete a Service or a workload with its pods", deleteObject},
		{"opt out", "take the namespace's label away", optOut},
		{"opt in", "put it on again", optIn},
		{"scale NAME REPLICAS", "have a workload have so many pods", scale},
		{"up NAME", "one more pod of a workload", up},
		{"down UNIT", "delete the unit's pod, whose agent says goodbye", down},
		{"terminate UNIT", "the unit's pod begins to end, and goes by a later step", terminate},
		{"kill UNIT", "the same, without a goodbye", kill},
		{"replace UNIT", "delete the unit's pod and make another", replace},
		{"relate END PROVIDER", "a person relates web:store db:main", relate},
		{"offer PROVIDER INTERFACE", "another namespace offers db.data:main, which says its host", offer},
		{"withdraw PROVIDER", "it offers that no more", withdraw},
		{"end relation ID", "a person deletes a relation", endRelation},
		{"wait DURATION", "let time pass: 90s, 10m, 24h", wait},
		{"run UNIT: COMMAND…", "run tools in the unit's pod, outside its handlers; > what is printed", run},
		{"refuse UNIT: COMMAND…", "the same, and it must fail", refuse},
		{"handler NAME HOOK is FILE", "give an application another handler; FILE none for none", setHandler},
		{"fail UNIT TIMES", "the next so many handlers of the unit fail in the end", fail},
		{"stall UNIT", "the next handler of the unit hangs in the end", stall},
		{"resume UNIT", "the handler that hangs succeeds", resume},
		{"restart agent UNIT", "the agent's container starts anew", restartAgent},
		{"crash agent UNIT", "it does so after the next handler, before it remembers that", crashAgent},
		{"cut off UNIT", "the unit does not reach the controller", cutOff},
		{"reconnect UNIT", "it does again", reconnect},
		{"hold delivery to UNIT", "snapshots for the unit are on their way, and do not arrive", hold},
		{"deliver to UNIT", "those on their way arrive, in order, and those to come too", deliverAll},
		{"deliver next to UNIT", "the first of those on their way arrives", deliverNext},
		{"deliver last to UNIT", "the last arrives, the others are lost", deliverLast},
		{"deliver reversed to UNIT", "they arrive in reverse order", deliverReversed},
		{"deliver twice to UNIT", "each arrives twice, with all others in between", deliverTwice},
		{"stop controller", "there is none", stopController},
		{"start controller", "there is one again", startController},
		{"restart controller", "another process takes over", startController},
		{"crash controller after WRITES writes", "it dies in the middle of its next writes", crashController},
		{"crash controller after a commit", "it dies when it next has committed a transaction of several bags", crashCommit},
	}
}

// expectations are the steps in which something is compared.
func expectations() []verb {
	return []verb{
		{"UNIT hears", "what its handlers heard since the last time, in order; > events", expectHears},
		{"UNIT hears nothing", "they heard nothing", expectHears},
		{"UNIT sees OWNER in ID", "the bag of a unit or application in db:1; > key: value, or the refusal", expectSees},
		{"relations", "all there are; > id requirer provider [refused] [held] [suspending] [suspended] [ending]", expectRelations},
		{"units NAME", "those of an application; > unit [why it is gone]", expectUnits},
		{"leader NAME is UNIT", "who leads an application now, or none", expectLeader},
		{"condition NAME TYPE STATUS REASON", "of an application, or relation:ID; > message", expectCondition},
		{"condition NAME has no TYPE", "it has none of that type", expectNoCondition},
		{"record ID", "what was said in a relation; > sequence who cause bag keys", expectRecord},
		{"rollouts NAME TIMES", "how often data rolled a workload out", expectRollouts},
		{"on the way to UNIT COUNT", "how many snapshots are held back", expectOnTheWay},
	}
}
