// Package blobtest proves that an adapter is a store of immutable blobs.
//
// What must not come in: what one adapter alone does.
package blobtest
