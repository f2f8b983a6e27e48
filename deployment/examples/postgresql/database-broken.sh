#!/bin/sh
# Data goes only when the relation has really ended, never because a declaration has
# vanished for a while.
set -eu
[ "$ORCON_FINAL" = true ] || exit 0
role="relation_${JUJU_RELATION_ID#*:}"
psql="psql -qtA -v ON_ERROR_STOP=1 -h 127.0.0.1 -U postgres"
$psql -c "SELECT datname FROM pg_database WHERE pg_get_userbyid(datdba) = '$role'" | while read -r database; do
  $psql -c "DROP DATABASE \"$database\" WITH (FORCE)"
done
# What the role made in other databases would keep it.
if [ -n "$($psql -c "SELECT rolname FROM pg_roles WHERE rolname = '$role'")" ]; then
  $psql -c "SELECT datname FROM pg_database WHERE datallowconn" | while read -r database; do
    $psql -d "$database" -c "DROP OWNED BY \"$role\""
  done
fi
$psql -c "DROP ROLE IF EXISTS \"$role\""

# The password goes too: an application may have 256 secrets. A handler may run again, so that it may have gone.
[ "$(is-leader)" = True ] || exit 0
secret=$(relation-get --app password "${JUJU_UNIT_NAME%/*}")
if [ -n "$secret" ] && secret-ids | grep -qxF "${secret#secret:}"; then
  secret-remove "$secret"
fi
