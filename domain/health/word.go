package health

import (
	"slices"
	"strings"
)

// The words of phases and states, as letters in lower case. A phrase counts as bad or under way if one of
// its words is, and as good only as a whole.
//
//nolint:gochecknoglobals // tables
var (
	good = words(`accepted active alive allocated applied attached available bound clusterinhealthystate complete completed
		connected created deployed done enabled established finished green healthok healthy initialized installed
		issued listening loaded normal ok online operational passed poolinitialized present provisioned ready realized
		reconciled released running scaled serving stable started streaming succeeded success successful synced
		synchronized up updated uptodate valid validated verified working`)
	broken = words(`abort aborted abnormal broken cancelled canceled corrupt corrupted crashed crashloopbackoff critical
		dead degraded denied deny down err error errored errors evicted expired fail failed failing failure fatal
		faulted faulty imagepullbackoff incorrect invalid killed lost malformed misconfigured offline oomkilled red refused rejected
		terminated timeout unavailable unhealthy unreachable unrecoverable unschedulable unsupported`)
	under = words(`apply backup bootstrap bootstrapped clone failover failback import init instantiated missing new outofsync
		partial planned progress queue queued reboot rerun resize restore retry rollback rollout scheduled setup
		submitted switchover sync unbound unknown unready uninitialized unsynced upgrade wait yellow`)
	// begun are good words that only tell of a beginning where the object is a run.
	begun = words(`accepted active alive initialized loaded operational running started streaming working`)
	// runs are the last words of the names of kinds whose objects come to an end.
	runs = words(`backup benchmark build clone download experiment export import job migration promotion restore run scan
		task test upload workflow`)
	resting = words(`halted hibernated off paused sleeping stopped suspended`)
)

// isWord reports whether a field holds a word about the object as it is now.
func isWord(name string) bool {
	all := parts(name)
	if len(all) == 0 {
		return false
	}
	switch all[0] {
	case "last", "previous", "desired", "target", "expected", "old":
		return false
	}
	return slices.Contains([]string{"phase", "state", "status", "health"}, all[len(all)-1])
}

// word returns the class of a word or phrase; found is false for one of no known meaning.
func word(text string) (class Class, found bool) {
	all := parts(text)
	whole := strings.Join(all, "")
	contains := func(table []string) bool {
		return slices.ContainsFunc(all, func(part string) bool { return slices.Contains(table, part) })
	}
	switch {
	case whole == "":
		return "", false
	case slices.Contains(good, whole):
		return Positive, true
	case slices.Contains(resting, whole):
		return Pause, true
	case negated(all):
		return Negative, slices.Contains([]string{"not", "un"}, all[0])
	case contains(broken), slices.Contains(broken, whole):
		return Failure, true
	case contains(under), slices.Contains(under, whole), slices.ContainsFunc(all, ongoing):
		return Negative, true
	}
	return "", false
}

// ongoing reports whether a word is that of something under way: Creating, Finalizing.
func ongoing(part string) bool {
	return len(part) > len("being") && strings.HasSuffix(part, "ing") && !slices.Contains(good, part)
}

// negated reports whether a phrase says that something is not so.
func negated(all []string) bool {
	return len(all) > 1 && (all[0] == "no" || all[0] == "not" || all[0] == "without") && !slices.Contains(denials, all[1])
}

// The fields that are booleans about the object; others that end with ready are too.
//
//nolint:gochecknoglobals // tables
var (
	goodFlags = words(`accepted active applied available bound completed connected created deployed established healthy installed online
		provisioned ready readytouse reconciled succeeded synced uptodate valid`)
	brokenFlags  = words(`aborted degraded error errored failed haserror haserrors stalled unhealthy`)
	restingFlags = words(`hibernated paused suspended`)
)

// flag returns the class of a boolean; found is false for one of no known meaning.
func flag(name string, value bool) (class Class, found bool) {
	name = strings.TrimPrefix(plain(name), "is")
	switch {
	case slices.Contains(goodFlags, name), strings.HasSuffix(name, "ready"):
		if value {
			return Positive, true
		}
		return Negative, true
	case slices.Contains(brokenFlags, name):
		return Failure, value
	case slices.Contains(restingFlags, name):
		return Pause, value
	}
	return "", false
}

// wordOf returns the class of a word about an object. A run that has begun is not ready before it has ended.
func wordOf(run bool, text string) (Class, bool) {
	class, found := word(text)
	if class == Positive && run && slices.Contains(begun, plain(text)) {
		class = Negative
	}
	return class, found
}

// isRun reports whether objects of a kind come to an end, by its name: RayJob, but not CronJob.
func isRun(kind string) bool {
	all := parts(kind)
	return len(all) > 0 && slices.Contains(runs, all[len(all)-1]) && all[0] != "cron" && all[0] != "scheduled"
}
