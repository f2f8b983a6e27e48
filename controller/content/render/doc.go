// Package render turns trees into objects: charts, kustomizations, manifests, Templates and operators. Only programs that
// render link it, since the libraries of charts and kustomizations are larger than all else.
//
// What must not come in: where a tree comes from, an order of objects, a cluster.
package render
