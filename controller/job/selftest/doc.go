// Package selftest finds out whether an executor carries runs out as the runner contract promises (JOBS.md J15,
// JOBS-DESIGN.md 20). A small program looks at its container from within; a driver runs it in several ways and looks at
// what comes back.
//
//	Main     the program
//	Drive    all runs, and the report about them
//	Machine  runs of this machine's executor, which store in memory: the machine tests itself without a controller
//	Prover   a machine that tests itself when its runner or its engine is another one
//
// What must not come in: what an executor is made of.
package selftest
