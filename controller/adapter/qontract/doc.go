// Package qontract reads the data of a fleet from a GraphQL server of Qontract (FLEET.md D5): integrations, and the
// accounts, clusters and organisations that they are sharded by. All queries of a fetch read one commit.
//
// What must not come in: what the data mean, which domain/fleet/data decides.
package qontract
