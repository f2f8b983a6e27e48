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
	// UnitReads and the like are requests of a minute, and bytes of a second that are read or sent for them.
	UnitReads          = 2400
	UnitReadBurst      = 800
	UnitReadBytes      = 8 << 20
	UnitReadByteBurst  = 512 << 20
	NamespaceReads     = 9600
	NamespaceReadBurst = 6400
	NamespaceReadBytes = 32 << 20
	// NamespaceReadByteBurst is that of a namespace's reads.
	NamespaceReadByteBurst = 2 << 30
	ClusterReads           = 24000
	ClusterReadBurst       = 12800
	ClusterReadBytes       = 64 << 20
	ClusterReadByteBurst   = 4 << 30
	// ShareReads and ShareReadBytes are the burst of a namespace's part of them.
	ShareReads     = 400
	ShareReadBytes = 64 << 20
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

// Reads returns how many requests for data a replica carries out for units, and how many bytes it reads and sends for
// them. Almost none stores anything: what does is charged to Data too.
func Reads() Limits {
	return Limits{
		Unit:      limit(UnitReads, UnitReadBurst, UnitReadBytes, UnitReadByteBurst),
		Namespace: limit(NamespaceReads, NamespaceReadBurst, NamespaceReadBytes, NamespaceReadByteBurst),
		Cluster:   limit(ClusterReads, ClusterReadBurst, ClusterReadBytes, ClusterReadByteBurst),
		Share:     limit(0, ShareReads, 0, ShareReadBytes),
	}
}

// Calls returns how many requests of another kind a replica carries out for units, such as those for leadership. What
// others of its namespace request does not limit a unit while the cluster has a budget.
func Calls() Limits {
	l := Reads()
	l.Namespace = Limit{}
	return l
}

// limit returns one replica's part of a budget.
func limit(commits, commitBurst, bytes, byteBurst float64) Limit {
	return Limit{
		Rate:  Cost{commits / time.Minute.Seconds() / replicas, bytes / replicas},
		Burst: Cost{commitBurst / replicas, byteBurst / replicas},
	}
}
