// Command hooktool is each hook tool, by the name that it is run with, for handlers that run outside of a container. It
// calls the agent whose socket ORCON_TEST_SOCKET names.
package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

func main() {
	call := tool.Call{Name: filepath.Base(os.Args[0]), Args: os.Args[1:], Env: map[string]string{}, Files: map[string][]byte{}}
	for _, name := range tool.Variables() {
		if value, set := os.LookupEnv(name); set {
			call.Env[name] = value
		}
	}
	for _, file := range tool.Needs(call.Name, call.Args).Files {
		if file == tool.Stdin {
			call.Files[file], _ = io.ReadAll(os.Stdin)
		}
	}
	result := agent.Call(context.Background(), os.Getenv("ORCON_TEST_SOCKET"), call)
	_, _ = os.Stdout.Write(result.Stdout)
	_, _ = os.Stderr.Write(result.Stderr)
	os.Exit(result.ExitCode)
}
