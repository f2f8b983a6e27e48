package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// Where a container of the pod finds the agent, and the tools.
const (
	containerSocket = "/orcon/socket/agent.sock"
	toolsBinary     = "/orcon/tools/relation-agent"
	// readable is this binary in its image, where the one that runs cannot be read.
	readable = "/tools/relation-agent"
)

// runTool is the client of a tool: it sends what was typed to the agent, and
// does what the answer says.
func runTool(ctx context.Context, socket, name string, args []string) (exitCode int) {
	var result tool.Result
	files, err := readNeeded(name, args)
	if err != nil {
		result = tool.Failed(err)
	} else {
		result = agent.Call(ctx, socket, tool.Call{Name: name, Args: args, Env: forwarded(), Files: files})
	}
	if result.Output.Path != "" {
		if err := os.WriteFile(result.Output.Path, result.Output.Content, 0o600); err != nil {
			result = tool.Failed(fmt.Errorf("cannot write the output: %w", err))
		}
	}
	if len(result.Stdout) > 0 {
		if _, err := os.Stdout.Write(result.Stdout); err != nil {
			result = tool.Failed(fmt.Errorf("cannot write the output: %w", err))
		}
	}
	_, _ = os.Stderr.Write(result.Stderr)
	return result.ExitCode
}

func readNeeded(name string, args []string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, file := range tool.Needs(name, args).Files {
		var content []byte
		var err error
		if file == tool.Stdin {
			content, err = io.ReadAll(os.Stdin)
		} else {
			content, err = os.ReadFile(file) //nolint:gosec // whoever calls names it
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read what the call needs: %w", err)
		}
		files[file] = content
	}
	return files, nil
}

func forwarded() map[string]string {
	env := map[string]string{}
	for _, name := range tool.Variables() {
		if value, set := os.LookupEnv(name); set {
			env[name] = value
		}
	}
	return env
}

// installTools puts this binary under the names of all tools where containers
// find it. A binary that runs there already is replaced, not written to.
func installTools(folder string) error {
	binary := filepath.Join(folder, "relation-agent")
	if err := copyTo(binary); err != nil {
		return fmt.Errorf("cannot install the tools: %w", err)
	}
	for _, name := range tool.Names() {
		err := os.Symlink("relation-agent", filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cannot install the tools: %w", err)
		}
	}
	return nil
}

// copyTo copies this binary, in one step for every reader.
func copyTo(path string) error {
	from, err := os.Open(readable)
	if errors.Is(err, fs.ErrNotExist) {
		from, err = os.Open("/proc/self/exe") // outside of an image
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	_ = os.Remove(path + ".new")                                                  // of a process before this one
	to, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) //nolint:gosec // to be run by anybody
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
