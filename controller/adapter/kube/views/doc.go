// Package views shows each application what it may see of its namespace and of others, from the caches of one
// replica, and reports which applications' views have changed.
//
// What must not come in: a write, and a rule on who may see what (domain/relation).
package views
