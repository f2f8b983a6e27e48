#!/bin/sh
# A requirer asks for a database by its name. Its answer is the database, a role that
# owns it, and a password that only it can read. It asks for another password by another
# word in rotate. A provider that has lost its data answers anew.
set -eu
[ "$(is-leader)" = True ] || exit 0
asked=$(relation-get --app database "$JUJU_REMOTE_APP")
[ -n "$asked" ] || exit 0
rotate=$(relation-get --app rotate "$JUJU_REMOTE_APP")
us=${JUJU_UNIT_NAME%/*}
host=$(relation-get ingress-address "$JUJU_UNIT_NAME")

role="relation_${JUJU_RELATION_ID#*:}"
psql="psql -qtA -v ON_ERROR_STOP=1 -h 127.0.0.1 -U postgres"
secret=$(relation-get --app password "$us")
rotated=$(relation-get --app rotated "$us")
found=$($psql -c "SELECT rolname FROM pg_roles WHERE rolname = '$role'")
if [ "$rotate" = "$rotated" ] && [ -n "$secret" ] && [ -n "$found" ]; then
  # Answered already, and what is stored holds: an attempt that was not stored, or a leader before that ended
  # too early, may have left another password in PostgreSQL.
  password=$(secret-get --peek --format smart "$secret" password)
  $psql <<SQL
ALTER ROLE "$role" PASSWORD '$password';
SQL
  written=$(relation-get --app host "$us")
  [ "$host" = "$written" ] || relation-set --app host="$host"
  exit 0
fi

password=$(tr -dc 'A-Za-z0-9' </dev/urandom | head -c 32)
$psql <<SQL
SELECT 'CREATE ROLE "$role" LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$role') \gexec
ALTER ROLE "$role" PASSWORD '$password';
SELECT 'CREATE DATABASE "$asked" OWNER "$role"' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '$asked') \gexec
SQL
owner=$($psql -c "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = '$asked'")
[ "$owner" = "$role" ] || {
  echo "database $asked is another requirer's; ask for another name" >&2
  exit 1
}

if [ -n "$secret" ]; then
  secret-set "$secret" password="$password"
else
  secret=$(secret-add password="$password")
  secret-grant "$secret" -r "$JUJU_RELATION_ID"
fi
relation-set --app host="$host" port=5432 database="$asked" username="$role" password="$secret" rotated="$rotate"
