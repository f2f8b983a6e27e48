// Package directory stores blobs in a folder of one machine: development, single replicas, spools of nodes.
//
//	.lock                       held by the one process that writes
//	.incoming/NAME              a blob that is not stored yet; swept when the folder is opened
//	WORKSPACE/FENCE/NAME        a blob, whole
//
// What must not come in: a second writer. Two machines that share a folder are not protected from each other by a
// lock that their file system does not carry.
package directory
