package dockerjob

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Mounts is the folder of an attempt, which has the mounts of its container.
type Mounts string

// The folders and files of an attempt.
const (
	exchangeName  = "exchange"
	stateName     = "state"
	logsName      = "logs"
	contentName   = "content"
	secretsName   = "secrets"
	homeName      = "home"
	temporaryName = "temporary"
	scratchName   = "scratch"
	attemptName   = "attempt.json"
	overName      = "over"
	removedName   = "removed"
)

// What the image leaves in the folder of its content.
const (
	workName   = contentName + "/work"
	passwdName = contentName + "/passwd"
	groupName  = contentName + "/group"
)

func (f Mounts) path(name string) string { return filepath.Join(string(f), name) }

// Exchange returns the folder that keeper and shim share.
func (f Mounts) Exchange() exchange.Folder { return exchange.Folder(f.path(exchangeName)) }

// State returns the folder of the state.
func (f Mounts) State() string { return f.path(stateName) }

// Logs returns the folder of the template's log files.
func (f Mounts) Logs() string { return f.path(logsName) }

// Work returns the working directory of the template.
func (f Mounts) Work() string { return f.path(workName) }

// Secrets returns the folder of the template's secrets: a link to one in memory, which is there while the attempt is carried
// out and has some.
func (f Mounts) Secrets() string { return f.path(secretsName) }

// Scratch returns a folder of the keeper's own.
func (f Mounts) Scratch() string { return f.path(scratchName) }

// there reports whether the folder has a file.
func (f Mounts) there(name string) bool {
	_, err := os.Stat(f.path(name))
	return err == nil
}

// begin makes the folder of an attempt, whose intent comes last. It changes nothing if that is there. Memory is the folder for
// secrets of all attempts.
func (f Mounts) begin(a executor.Attempt, memory string) error {
	if f.there(attemptName) {
		return nil
	}
	for _, name := range []string{exchangeName, stateName, logsName, contentName, homeName, temporaryName, scratchName} {
		if err := os.MkdirAll(f.path(name), 0o700); err != nil {
			return err
		}
	}
	text, err := json.Marshal(a)
	if err == nil && len(a.Input.Secrets) > 0 {
		err = os.Symlink(filepath.Join(memory, filepath.Base(string(f))), f.Secrets())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.write(attemptName, text)
}

// attempt returns the attempt of a folder; nil for one that was not begun.
func (f Mounts) attempt() (*executor.Attempt, error) {
	text, err := os.ReadFile(f.path(attemptName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	var a executor.Attempt
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return &a, err
}

// mark makes a file without content.
func (f Mounts) mark(name string) error { return f.write(name, nil) }

// write makes a file appear whole, and stay when the machine loses its power.
func (f Mounts) write(name string, content []byte) error {
	file, err := os.CreateTemp(string(f), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone where all went well
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), f.path(name)); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Clean(string(f)))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// remove removes the folder, also what a template has forbidden itself to enter.
func (f Mounts) remove() error {
	err := filepath.WalkDir(string(f), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700) //nolint:gosec // a folder
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(string(f))
}
