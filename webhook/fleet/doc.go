// Package fleet answers webhooks that have the data of an IntegrationSet fetched (FLEET.md D5). A request changes nothing
// by itself: what it sends is not read, and a set that is asked to fetch twice is in the state of one that was asked once.
//
// What must not come in: what a push has changed, a fetch, a client of the cluster.
package fleet
