package selftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Parameters are those of each run: a value of each type. A member that is null is none. Each of its numbers is one for all
// readers of JSON.
const Parameters = `{"empty":"","list":[1,"a",[],null],"no":false,"number":9007199254740991,"object":{"a":{"b":-0.1}},` +
	`"text":"ä <&> \"\n\\u0000$(HOME) ${HOME}","yes":true}`

// inside returns the report about the container, as the program sees it from inside.
func inside() conformance.Report {
	r := conformance.Report{Contract: os.Getenv(contract.VariableContract)}
	for name, want := range map[string]string{
		contract.VariableContract: contract.Version, contract.VariableState: contract.State, contract.VariableParameters: contract.Parameters,
		contract.VariableOutputs: contract.Outputs, contract.VariableLogs: contract.Logs, contract.VariableSecrets: contract.Secrets,
		"HOME": contract.Home, "TMPDIR": contract.Temporary, contract.VariableAction: "check", contract.VariableAttempt: "1",
	} {
		r = r.Add("variable "+name, equal(want, os.Getenv(name)))
	}
	for _, name := range []string{contract.VariableNamespace, contract.VariableWorkspace, contract.VariableRun} {
		r = r.Add("variable "+name, filled(os.Getenv(name)))
	}
	_, err := strconv.ParseUint(os.Getenv(contract.VariableGeneration), 10, 63)
	r = r.Add("variable "+contract.VariableGeneration, err)
	for name, check := range map[string]func() error{
		"parameters": parameters, "mode of the parameters": private, "folder of secrets": secrets, "mounts": mounts,
		"state over HTTP": overHTTP, "outputs": outputs, "working directory": working, "folder of the state": writable(contract.VariableState),
		"folder of logs": logs, "folder of the home": writable("HOME"), "folder of temporary files": writable("TMPDIR"),
		"input": input, "process group": group, "user": user, "root": root, "token": token, "privileges": privileges,
	} {
		r = r.Add(name, check())
	}
	return r
}

func equal(want, got string) error {
	if want != got {
		return fmt.Errorf("it is %q instead of %q", got, want)
	}
	return nil
}

func filled(text string) error {
	if text == "" {
		return errors.New("it is not set")
	}
	return nil
}

// parameters compares the parameters, whose members may have any order and space.
func parameters() error {
	text, err := os.ReadFile(os.Getenv(contract.VariableParameters))
	want, problem := decoded(Parameters)
	got, unreadable := decoded(string(text))
	return errors.Join(err, problem, unreadable, equal(want, got))
}

// decoded returns a JSON document with sorted members, and the digits of its numbers.
func decoded(document string) (string, error) {
	in := json.NewDecoder(strings.NewReader(document))
	in.UseNumber()
	var value any
	err := in.Decode(&value)
	return fmt.Sprintf("%#v", value), err
}

// private looks at the mode of the parameters: the user alone may read them.
func private() error {
	info, err := os.Stat(os.Getenv(contract.VariableParameters))
	if err != nil {
		return err
	}
	return equal("-rw-------", info.Mode().String())
}

// secrets looks at the folder of secrets: if it is there, it cannot be written.
func secrets() error {
	if write(os.Getenv(contract.VariableSecrets)) == nil {
		return errors.New("it can be written")
	}
	return nil
}

// mounts looks for the mounts of the contract's folders, which outlive the container.
func mounts() error {
	text, err := os.ReadFile("/proc/self/mounts")
	for _, folder := range []string{contract.State, contract.Logs, contract.Work, contract.Home, contract.Temporary} {
		if !strings.Contains(string(text), " "+folder+" ") {
			err = errors.Join(err, fmt.Errorf("%s is not a mount", folder))
		}
	}
	return err
}

// served is the state that is stored over HTTP, which the driver finds.
const served = `{"version":4}`

// overHTTP stores and reads the state of Terraform.
func overHTTP() error {
	address := os.Getenv(contract.VariableAddress)
	stored, err := http.Post(address, "application/json", strings.NewReader(served))
	if err != nil {
		return err
	}
	_ = stored.Body.Close() // it is empty
	read, err := http.Get(address)
	if err != nil {
		return err
	}
	defer read.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(read.Body)
	return errors.Join(err, equal(served, string(text)))
}

// outputs writes an output, which the driver finds.
func outputs() error {
	return os.WriteFile(os.Getenv(contract.VariableOutputs), []byte(`{"seen":1}`), 0o600)
}

// contentName is a file of the image's working directory, and content what it has.
const (
	contentName = "content"
	content     = "of the image\n"
)

// working looks at the working directory: the image's content is there, and it may be written.
func working() error {
	folder, err := os.Getwd()
	text, unreadable := os.ReadFile(contentName)
	return errors.Join(err, unreadable, equal(contract.Work, folder), equal(content, string(text)), write(folder))
}

func writable(variable string) func() error {
	return func() error { return write(os.Getenv(variable)) }
}

// write writes a file and removes it.
func write(folder string) error {
	file, err := os.CreateTemp(folder, "conformance-")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// logs writes a log file, which the driver finds. The folder starts empty.
func logs() error {
	folder := os.Getenv(contract.VariableLogs)
	entries, err := os.ReadDir(folder)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("it is not empty: %s", entries[0].Name())
	}
	return errors.Join(err, os.WriteFile(filepath.Join(folder, "conformance.log"), []byte("seen\n"), 0o600))
}

// input looks at the standard input: it is empty.
func input() error {
	n, err := io.Copy(io.Discard, os.Stdin)
	if n > 0 {
		return fmt.Errorf("it has %d bytes", n)
	}
	return err
}

// group looks at the process group: the program leads its own, so that signals reach its children.
func group() error {
	return equal(strconv.Itoa(os.Getpid()), strconv.Itoa(syscall.Getpgrp()))
}

// user looks at uid and gid, and for an entry in passwd.
func user() error {
	want := fmt.Sprintf("%d:%d", contract.User, contract.User)
	err := equal(want, fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()))
	text, problem := os.ReadFile("/etc/passwd")
	if !strings.Contains(string(text), ":"+want+":") {
		problem = errors.Join(problem, errors.New("it has no entry in /etc/passwd"))
	}
	return errors.Join(err, problem)
}

// root looks at the root folder: it cannot be written.
func root() error {
	if write("/") == nil {
		return errors.New("it can be written")
	}
	return nil
}

// token looks for a token of Kubernetes: there is none.
func token() error {
	const file = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("there is %s", file)
	}
	return nil
}

// privileges looks at what the process may gain and has: nothing.
func privileges() error {
	text, err := os.ReadFile("/proc/self/status")
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{"NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"} {
		if !slices.Contains(lines, want) {
			err = errors.Join(err, fmt.Errorf("%s is missing", strings.ReplaceAll(want, "\t", " ")))
		}
	}
	return err
}
