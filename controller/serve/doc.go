// Package serve is the relations API for agents. Every replica serves it, from
// its informers alone: an agent's stream costs the API server one token review. A pod has its pace, which is kept before that.
//
//	token ─review─▶ pod, by UID ─▶ application ─▶ view ─▶ snapshot, again after each change
//
// What must not come in: a decision about relations, or a write.
package serve
