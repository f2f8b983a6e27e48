// Package negotiation is the negotiation as it was before it became stages, frozen: an oracle
// that domain/negotiation is compared with over random histories. It goes when the stages stand.
//
// What must not come in: a change that is not the renaming of something that it imports.
package negotiation
