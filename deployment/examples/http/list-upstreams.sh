#!/bin/sh
# Writes the addresses of all units that there are now. Whatever happened, the
# answer is the same question: who is in the relation?
set -eu
for unit in $(relation-list); do
  relation-get ingress-address "$unit"
done | sort >/shared/.upstreams
mv /shared/.upstreams /shared/upstreams
