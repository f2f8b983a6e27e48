// Package limit bounds what the pods that call the relations API take: the requests and writes of each pod, application
// and namespace, and the time of a request. What a pod has used up is refused with the wait.
//
//	pod, by its token ─pace─▶ proven ─hold─▶ body read ─budget─▶ carried out, and charged
//
// What must not come in: a procedure's own work, streams, or the review of tokens.
package limit
