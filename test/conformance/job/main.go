// Command job is the program of conformance as a template's image has it.
//
// What must not come in: anything but the call.
package main

import (
	"os"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
)

func main() { os.Exit(selftest.Main(os.Args[1:], os.Stdout, os.Stderr)) }
