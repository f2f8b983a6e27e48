package budget

import "time"

// Writer is a unit that writes: its pod, its application and its namespace.
type Writer struct{ Namespace, Application, Unit string }

// Shortage is a budget that lacks what a write costs.
type Shortage struct {
	Level Level
	// Wait is how long it lacks it, if nothing else is written meanwhile.
	Wait time.Duration
}

// forgetting is how often the ledger forgets who has its whole budget again.
const forgetting = time.Second

// Ledger holds the rest of each budget. Time must not go back.
type Ledger struct {
	limits  Limits
	cluster bucket
	buckets map[account]bucket
	// shares has the rest of each namespace's part of the cluster's rate, by the clock of parts.
	shares map[string]share
	// parts is the time that has passed for each namespace's part of the cluster's rate, in seconds: half as fast
	// where two namespaces write.
	parts    float64
	at       time.Time
	forgotAt time.Time
}

// account names a budget and its holder.
type account struct {
	level             Level
	namespace, holder string
}

// share has the rest of a namespace's part, at a time of parts.
type share struct {
	left Cost
	at   float64
}

// NewLedger returns a ledger in which nothing has been written.
func NewLedger(limits Limits, now time.Time) *Ledger {
	return &Ledger{
		limits: limits, cluster: bucket{limits.Cluster.Burst, now}, buckets: map[account]bucket{}, shares: map[string]share{},
		at: now, forgotAt: now,
	}
}

// Take takes a cost from the budgets of a writer, or from none of them: then it returns the one that lacks it for the
// longest time.
func (l *Ledger) Take(w Writer, c Cost, now time.Time) (short Shortage, taken bool) {
	l.pass(now)
	for _, b := range l.levels(w) {
		if wait := l.bucket(b, now).wait(b.limit, c); wait > short.Wait {
			short = Shortage{b.level, wait}
		}
	}
	if wait := min(l.cluster.wait(l.limits.Cluster, c), l.shareWait(w.Namespace, c)); wait > short.Wait {
		short = Shortage{Cluster, wait}
	}
	if short.Wait > 0 {
		return short, false
	}
	l.Spend(w, c, now)
	return Shortage{}, true
}

// Spend takes a cost that was not known before, whatever is left, or gives back what was not used, as a cost below
// zero.
func (l *Ledger) Spend(w Writer, c Cost, now time.Time) {
	l.pass(now)
	for _, b := range l.levels(w) {
		left := l.bucket(b, now)
		left.left = left.left.minus(c).atMost(b.limit.Burst)
		l.buckets[b.account] = left
	}
	if !bounds(l.limits.Cluster) {
		return
	}
	part := l.share(w.Namespace)
	after := part.left.minus(c).atMost(l.limits.Share.Burst)
	if l.cluster.left.covers(c) { // no debt of the namespace, since the cluster has enough
		after = after.atLeast(part.left.atMost(Cost{}))
	}
	l.shares[w.Namespace] = share{after, l.parts}
	l.cluster.left = l.cluster.left.minus(c).atMost(l.limits.Cluster.Burst)
}

// level is a budget of a writer.
type level struct {
	account
	limit Limit
}

// levels returns the budgets of a writer that bound anything, but the cluster's.
func (l *Ledger) levels(w Writer) []level {
	all := make([]level, 0, 3)
	for _, a := range []account{{Unit, w.Namespace, w.Unit}, {Application, w.Namespace, w.Application}, {Namespace, w.Namespace, ""}} {
		if limit := l.limits.of(a.level); bounds(limit) {
			all = append(all, level{a, limit})
		}
	}
	return all
}

// of returns the limit of a level below the cluster.
func (l Limits) of(level Level) Limit {
	switch level {
	case Unit:
		return l.Unit
	case Application:
		return l.Application
	default:
		return l.Namespace
	}
}

// bounds reports whether a limit bounds anything.
func bounds(l Limit) bool { return l.Burst != Cost{} }

// bucket returns what is left of a budget now.
func (l *Ledger) bucket(b level, now time.Time) bucket {
	left, known := l.buckets[b.account]
	if !known {
		return bucket{b.limit.Burst, now}
	}
	return left.until(b.limit, now)
}

// share returns what is left of a namespace's part of the cluster's rate now.
func (l *Ledger) share(namespace string) share {
	left, known := l.shares[namespace]
	if !known {
		return share{l.limits.Share.Burst, l.parts}
	}
	return share{left.left.plus(l.limits.Cluster.Rate.times(l.parts - left.at)).atMost(l.limits.Share.Burst), l.parts}
}

// shareWait returns how long a namespace's part of the cluster's rate lacks a cost.
func (l *Ledger) shareWait(namespace string, c Cost) time.Duration {
	part := Limit{Rate: l.limits.Cluster.Rate.times(1 / float64(max(1, len(l.shares)))), Burst: l.limits.Share.Burst}
	return bucket{left: l.share(namespace).left}.wait(part, c)
}

// pass lets time pass: the cluster's budget and the parts of it grow, and who has its whole budget again is forgotten.
func (l *Ledger) pass(now time.Time) {
	if passed := now.Sub(l.at); passed > 0 {
		l.parts += passed.Seconds() / float64(max(1, len(l.shares)))
		l.at = now
	}
	l.cluster = l.cluster.until(l.limits.Cluster, now)
	if now.Sub(l.forgotAt) < forgetting {
		return
	}
	l.forgotAt = now
	for a, left := range l.buckets {
		limit := l.limits.of(a.level)
		if left.until(limit, now).left.covers(limit.Burst) {
			delete(l.buckets, a)
		}
	}
	for namespace := range l.shares {
		if l.share(namespace).left.covers(l.limits.Share.Burst) {
			delete(l.shares, namespace)
		}
	}
}

// Accounts returns how many budgets are not whole.
func (l *Ledger) Accounts() int { return len(l.buckets) + len(l.shares) }
