package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
)

// runnerOfATest names the variable with which this program is the runner of a container and no test.
const runnerOfATest = "ORCON_TEST_RUNNER"

func init() { //nolint:gochecknoinits // in the process of the tests, the children of those beside would be taken too
	if os.Getenv(runnerOfATest) == "" {
		return
	}
	const setSubreaper = 36 // PR_SET_CHILD_SUBREAPER: as the first process of a container is one
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, setSubreaper, 1, 0); err != 0 {
		panic(err)
	}
	handle := reaping(program(func(hook string) ([]string, string) { return []string{"sh", "-c", hook}, "" }).handle)
	for range 5 {
		if done := handle(context.Background(), agent.Turn{Hook: "sleep 0.05 >&2 & exit 3"}); done.Failure != "exit code 3" {
			panic(done.Failure)
		}
		<-time.After(time.Second / 4)
	}
	handle(context.Background(), agent.Turn{Hook: "exit 0"})
	fmt.Print(zombies(), " zombies")
	os.Exit(0)
}

// zombies returns how many children of this process have ended without being waited for.
func zombies() (count int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		if strings.Contains(string(stat), fmt.Sprintf(") Z %d ", os.Getpid())) {
			count++
		}
	}
	return count
}

// What a handler leaves running becomes a child of the runner, which is the first process of its container. When it ends
// it is waited for: else each event takes a process for good, until the container can start none.
func TestHandlersLeaveNoZombies(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), runnerOfATest+"=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "0 zombies", string(out))
}
