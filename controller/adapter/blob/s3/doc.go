// Package s3 stores blobs in a bucket of a server with the S3 API.
//
// What must not come in: conditional writes, which not every server has. A fence has one holder, and this process does
// one write of a key at a time, so none is needed (JOBS-DESIGN.md 8).
package s3
