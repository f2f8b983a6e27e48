// Program audit compares what the accounts of Orcon may do with what they did: it reads audit logs of clusters in which
// Orcon ran, and roles with their bindings. A right that no account used is too many, and a request that was forbidden is
// one too few (TRUST.md, "Shown by").
//
//	kubectl kustomize deployment/selfsigned | go run ./test/audit FOLDER-WITH-LOGS
//
// What must not come in: anything of Orcon but the namespace of its accounts.
package main
