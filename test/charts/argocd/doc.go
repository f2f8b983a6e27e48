// Package argocd runs the health checks of deployment/argocd as Argo CD does: in the same Lua, with the same libraries. It
// is in the module of charts since nothing else of Orcon needs a Lua.
//
// What must not come in: Argo CD itself.
package argocd
