// Package secrets is the cluster as secrets are kept in it: the contents, what units read of them, what
// relations grant of other Secrets, and what is left over when they have ended.
//
// What must not come in: a decision on who may read what.
package secrets
