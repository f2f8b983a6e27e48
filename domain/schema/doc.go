// Package schema knows what an interface is: which fields each of a relation's
// four bags holds, which of them make the relation ready, which are secret and
// which are JSON, and whether a bag, or a newer version of the interface, fits.
//
// An interface is a YAML document (RELATIONS.md, Interfaces):
//
//	name: postgresql_client
//	version: 1
//	description: what it is for
//	provider:                  # or both: for one schema in both directions
//	  application:             # the bag of the application, of a unit: unit
//	    ready: [password]      # fields without which the relation is not ready
//	    secret: [password]     # fields that hold a reference to a secret
//	    schema:                # JSON Schema, draft 2020-12
//	      type: object
//	      properties:
//	        password: {description: what it is, type: string}
//	    examples:
//	      - {password: "secret:c6b9fk2t7m0q3v8x1z5d"}
//	requirer: {}
//
// A bag holds strings, so the schema of a field is one of a string. A value that
// is JSON inside the string says so with the standard's own words: type string,
// contentMediaType application/json, and contentSchema for what is in it. A bag
// is written a key at a time, so what must be there is a matter of being ready
// and never of being right: `ready` stands beside the schema, and the schema of
// the bag itself has no `required`. A peer relation has the provider's bags.
//
// Of the standard's keywords those are left out that reach beyond the document or
// whose cost is unknown in advance ($id, $anchor, $dynamicRef, unevaluated…);
// a reference is "#/$defs/NAME" and leads to no circle; formats are the listed
// ones and are checked; patterns are Go's (RE2), which match in linear time and
// know no look-around and no back-reference. Unknown keywords are refused, for a
// misspelt one that is ignored is found in production.
//
// What must not come in: where interfaces are stored and who may publish one,
// whether a violation warns or refuses, clock, files, network, Kubernetes.
package schema
