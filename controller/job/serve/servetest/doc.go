// Package servetest holds the ports of the jobs API in memory, and faults for it, for tests: no binary imports it.
package servetest
