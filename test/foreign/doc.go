// Package foreign has what others wrote: charts and operators of Go modules, and images of their programs. Archives come
// from the module cache, each pinned by its checksum; nothing of them is copied into this repository.
//
// What must not come in: Helm, which test/charts has in a module of its own.
package foreign
