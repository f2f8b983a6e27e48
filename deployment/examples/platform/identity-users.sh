#!/bin/sh
# Answers a request: GET lists the users, POST with the token adds one, as
# "token=…&name=…". The database lets in by PGHOST, PGUSER and so on.
set -eu

answer() { printf 'Status: %s\r\nContent-Type: text/plain\r\n\r\n%s\n' "$1" "$2"; }

if [ "$REQUEST_METHOD" = POST ]; then
  body=$(head -c "$CONTENT_LENGTH")
  token=${body#token=} name=${body##*&name=}
  if [ "${token%%&*}" != "$(cat /secret/token)" ]; then
    answer '403 Forbidden' 'that is not the token'
    exit
  fi
  echo "INSERT INTO users VALUES (:'name')" | psql -q -v ON_ERROR_STOP=1 -v name="$name"
  echo "added user $name" >&2
fi
answer '200 OK' "$(psql -qtAc 'SELECT name FROM users ORDER BY name')"
