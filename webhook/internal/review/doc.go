// Package review reads AdmissionReviews and writes their answers: what the
// rooms of the webhook floor have in common, and all of it.
//
// It decodes only what a room asks for: a typed decode of a pod costs more than
// everything a webhook does with it. Whatever arrives, the answer is an
// AdmissionReview with the cause (INJECTION.md I13).
//
// What must not come in: a decision about any object, and an API call.
package review
