package process

import (
	"slices"
	"strconv"
	"strings"
)

// mount is a line of mountinfo (man 5 proc_pid_mountinfo).
type mount struct {
	// id is unique among all mounts there are, so that it tells containers apart.
	id string
	// device is that of the volume, in every mount.
	device   string
	point    string
	readOnly bool
}

// mountAt returns what is mounted at a point.
func mountAt(mountinfo []byte, point string) (mount, bool) {
	return find(mountinfo, func(m mount) bool { return m.point == point })
}

// mountOf returns where a device is mounted.
func mountOf(mountinfo []byte, device string) (mount, bool) {
	return find(mountinfo, func(m mount) bool { return m.device == device })
}

// find returns the last that fits, which is on top of the others.
func find(mountinfo []byte, fits func(mount) bool) (found mount, ok bool) {
	for line := range strings.Lines(string(mountinfo)) {
		// 36 35 98:0 /root /point options …
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		m := mount{id: fields[0], device: fields[2], point: fields[4], readOnly: slices.Contains(strings.Split(fields[5], ","), "ro")}
		if fits(m) {
			found, ok = m, true
		}
	}
	return found, ok
}

// parseStat returns the parent of a process and when it started (man 5
// proc_pid_stat). The name before the last ")" may hold anything.
func parseStat(stat string) (parent int, started uint64, ok bool) {
	const parentAt, startedAt = 1, 19 // after the name
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= startedAt {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(fields[parentAt])
	if err != nil {
		return 0, 0, false
	}
	started, err = strconv.ParseUint(fields[startedAt], 10, 64)
	return parent, started, err == nil
}
