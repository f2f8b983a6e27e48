// Package jobprocess carries out attempts of Runs by processes of this machine, for tests and development: keeper and
// shim of job-runner, and the program of the template, which are not isolated from anything (JOBS.md J9 and J10).
//
// Each attempt has a folder. The processes outlive the one that started them, and another one finds them by it.
//
// What must not come in: rules about locks, which are domain/job's.
package jobprocess
