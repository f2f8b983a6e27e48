#!/bin/sh
# A requirer asks for a database by its name. Its answer is the database, a role that
# owns it, and a password that only it can read. It asks for another password by another
# word in rotate. A provider that has lost its data answers anew. A request that cannot be
# answered is refused by a status: a handler that fails would hold up all other requirers.
set -eu
[ "$(is-leader)" = True ] || exit 0
asked=$(relation-get --app database "$JUJU_REMOTE_APP")
[ -n "$asked" ] || exit 0
rotate=$(relation-get --app rotate "$JUJU_REMOTE_APP")
us=${JUJU_UNIT_NAME%/*}
host=$(relation-get ingress-address "$JUJU_UNIT_NAME")

refuse() {
  status-set -r "$JUJU_RELATION_ID" --code "$1" --resolution "$2" blocked "$3"
  exit 0
}
# It becomes a part of SQL, and the requirer's namespace may be another one.
case $asked in
  [!A-Za-z_]* | *[!A-Za-z0-9_-]*) refuse InvalidName "ask for one of letters, digits, _ and -" "the name of the database is not valid" ;;
esac
[ "${#asked}" -le 63 ] || refuse InvalidName "ask for one of at most 63 characters" "the name of the database is too long"

role="relation_${JUJU_RELATION_ID#*:}"
psql="psql -qtA -v ON_ERROR_STOP=1 -h 127.0.0.1 -U postgres"
secret=$(relation-get --app password "$us")
secrets=$(secret-ids)
# One that was removed is replaced: the relation had ended, and was restored.
printf '%s\n' "$secrets" | grep -qxF "${secret#secret:}" || secret=''
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
  status-set -r "$JUJU_RELATION_ID" active
  exit 0
fi

owner=$($psql -c "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = '$asked'")
[ "${owner:-$role}" = "$role" ] || refuse Taken "ask for another name" "database $asked is another requirer's"
password=$(tr -dc 'A-Za-z0-9' </dev/urandom | head -c 32)
$psql <<SQL
SELECT 'CREATE ROLE "$role" LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$role') \gexec
ALTER ROLE "$role" PASSWORD '$password';
SELECT 'CREATE DATABASE "$asked" OWNER "$role"' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '$asked') \gexec
-- A role enters no database but its own: what it made elsewhere would keep it from being dropped.
REVOKE ALL ON DATABASE "$asked", postgres, template1 FROM PUBLIC;
SQL

if [ -n "$secret" ]; then
  secret-set "$secret" password="$password"
else
  secret=$(secret-add password="$password")
  secret-grant "$secret" -r "$JUJU_RELATION_ID"
fi
relation-set --app host="$host" port=5432 database="$asked" username="$role" password="$secret" rotated="$rotate"
status-set -r "$JUJU_RELATION_ID" active
