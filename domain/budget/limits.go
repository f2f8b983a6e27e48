package budget

import "time"

// The budgets of all replicas together. Commits are those of a minute, bytes those of a second.
const (
	UnitCommits            = 120
	UnitCommitBurst        = 240
	UnitBytes              = 64 << 10
	UnitByteBurst          = 8 << 20
	ApplicationCommits     = 480
	ApplicationCommitBurst = 960
	ApplicationBytes       = 128 << 10
	ApplicationByteBurst   = 16 << 20
	NamespaceCommits       = 960
	NamespaceCommitBurst   = 1920
	NamespaceBytes         = 256 << 10
	NamespaceByteBurst     = 32 << 20
	ClusterCommits         = 7680
	ClusterCommitBurst     = 7680
	ClusterBytes           = 384 << 10
	ClusterByteBurst       = 64 << 20
	// ShareCommits and ShareBytes are the burst of a namespace's part while the cluster's budget is used up.
	ShareCommits = 60
	ShareBytes   = 1 << 20
	// SignalCommits and SignalBurst are the writes of a unit that are not data: changes of leadership, reports.
	SignalCommits = 12
	SignalBurst   = 30
	// MaxTransaction is how much one transaction writes at most, in bytes: what a replica lets a unit write at once.
	MaxTransaction = UnitByteBurst / replicas
)

// replicas is the number of replicas that divide each budget equally.
const replicas = 2

// Level is a budget that a write is charged to.
type Level string

// The levels, from the innermost.
const (
	Unit        Level = "Unit"
	Application Level = "Application"
	Namespace   Level = "Namespace"
	Cluster     Level = "Cluster"
)

// Limit is a rate, in a second, and a burst. One without a burst bounds nothing.
type Limit struct{ Rate, Burst Cost }

// Limits are the budgets of one replica. Share.Burst is that of a namespace's part of the cluster's rate.
type Limits struct{ Unit, Application, Namespace, Cluster, Share Limit }

// Data returns what a replica lets units write of data.
func Data() Limits {
	return Limits{
		Unit:        limit(UnitCommits, UnitCommitBurst, UnitBytes, UnitByteBurst),
		Application: limit(ApplicationCommits, ApplicationCommitBurst, ApplicationBytes, ApplicationByteBurst),
		Namespace:   limit(NamespaceCommits, NamespaceCommitBurst, NamespaceBytes, NamespaceByteBurst),
		Cluster:     limit(ClusterCommits, ClusterCommitBurst, ClusterBytes, ClusterByteBurst),
		Share:       limit(0, ShareCommits, 0, ShareBytes),
	}
}

// Signals returns what a replica lets units write of anything else. Each unit has a lane of its own, since leadership
// must not depend on what others write.
func Signals() Limits {
	return Limits{Unit: limit(SignalCommits, SignalBurst, UnitBytes, UnitByteBurst)}
}

// limit returns one replica's part of a budget.
func limit(commits, commitBurst, bytes, byteBurst float64) Limit {
	return Limit{
		Rate:  Cost{commits / time.Minute.Seconds() / replicas, bytes / replicas},
		Burst: Cost{commitBurst / replicas, byteBurst / replicas},
	}
}
