#!/bin/sh
# A unit that leads now answers what the last leader may have left half done: a password that
# PostgreSQL has and no secret, or a database without an answer.
set -eu
for relation in $(relation-ids database); do
  remote=$(relation-list -r "$relation" --app) || continue # it is ending
  JUJU_RELATION_ID=$relation JUJU_REMOTE_APP=$remote "$(dirname "$0")/database-relation-changed"
done
