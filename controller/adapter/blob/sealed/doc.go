// Package sealed encrypts states before a store gets them, in the format of age (JOBS.md J14, JOBS-DESIGN.md 9). The
// source of keys has one identity a line, as age-keygen writes it: the first one encrypts, and each of them decrypts, so
// that a new key is put first and an old one is removed when no state needs it any more.
//
// What is not encrypted stays readable, since it may have been stored before. A state is known by the digest of its
// plain archive, so that one that was replaced in the store is never restored.
//
// What must not come in: who may read a state.
package sealed
