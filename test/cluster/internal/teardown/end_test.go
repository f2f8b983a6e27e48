package teardown_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/teardown"
)

// TestEndFromTheRecord shows that the record alone is enough, that ending twice
// at the same time does no harm, and that a process that has the number of
// another is left alone.
func TestEndFromTheRecord(t *testing.T) {
	d := state.Dir(filepath.Join(t.TempDir(), "c"))
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	mine, mineEnded := sleeper(t)
	other, _ := sleeper(t)
	reused := state.Process{PID: other.PID, Started: other.Started + 1}
	r := state.Record{Dir: d, Components: map[string]state.Process{"etcd": mine, "kubelet": reused}}
	if err := r.Save(); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := teardown.End(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	<-mineEnded
	if !other.Alive() {
		t.Error("a process that is not the cluster's was killed")
	}
	if _, err := os.Stat(string(d)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// TestEndBesideAWriter shows that a program that goes on writing for a moment does not keep the folder.
func TestEndBesideAWriter(t *testing.T) {
	d := state.Dir(filepath.Join(t.TempDir(), "c"))
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	if err := (state.Record{Dir: d}).Save(); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(string(d), "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 20000 {
			_ = os.WriteFile(filepath.Join(logs, strconv.Itoa(i)), nil, 0o600) // fails once the folder is gone
		}
	})
	err := teardown.End(t.Context(), d)
	writer.Wait()
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(string(d)); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

func sleeper(t *testing.T) (state.Process, <-chan struct{}) {
	t.Helper()
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := state.FindProcess(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	return process, ended
}
