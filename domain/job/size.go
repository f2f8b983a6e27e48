package job

const (
	// MaxState is the size of the largest archive of a state that is stored, in bytes.
	MaxState = 512 << 20
	// orphanFactor times its limit, a state is still kept as an orphan.
	orphanFactor = 8
)

// MaxOrphan returns how many bytes the archive of an orphan may have, where that of a state may have limit bytes.
func MaxOrphan(limit int64) int64 { return min(orphanFactor*limit, MaxState) }
