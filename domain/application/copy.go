package application

import (
	"hash/fnv"
	"strconv"
)

// copyShards is the number of ConfigMaps in which a namespace keeps copies of data: as many as the role of the controller
// names.
const copyShards = 8

// StaleCopy returns the name of the ConfigMap that has the copy of an application's data, with which its pods may start
// while Orcon is away. The copy has the application's name as its key.
func StaleCopy(application string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(application))
	return copyShard(h.Sum32() % copyShards)
}

// StaleCopies returns the names of all ConfigMaps that have copies: few, so that a role can name them all and permit no
// other (TRUST.md R1).
func StaleCopies() []string {
	all := make([]string, copyShards)
	for i := range all {
		all[i] = copyShard(uint32(i))
	}
	return all
}

func copyShard(n uint32) string { return "orcon-stale-" + strconv.FormatUint(uint64(n), 10) }
