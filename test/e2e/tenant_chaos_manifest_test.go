//go:build chaos

package e2e

// cityExample is the example without its shop, with a folder of the first node for PostgreSQL's data.
const cityExample = `
resources: [%s]
patches:
  - patch: |
      $patch: delete
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: shop}
  - patch: |
      $patch: delete
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: shop-handlers}
  - patch: |
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: postgres}
      spec:
        template:
          spec:
            nodeSelector: {kubernetes.io/hostname: orcon-node}
            volumes: [{name: data, emptyDir: null, hostPath: {path: %s}}]
`

// cityTenant writes a row and a number again and again, and asks for another password now and then. It notes what was
// acknowledged.
const cityTenant = `
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s}
data:
  store-relation-created: |
    #!/bin/sh
    [ "$(is-leader)" != True ] || relation-set --app database=%[1]s
  leader-elected: |
    #!/bin/sh
    for relation in $(relation-ids store); do
      relation-set -r "$relation" --app database=%[1]s || true # it may be ending
    done
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata:
      labels: {app: %[1]s}
      annotations:
        tengu.io/consumes: store:postgresql_client
        tengu.io/relations: %[2]s
        tengu.io/handlers: /handlers
        injector.tengu.io/handler-image: localhost/orcon/postgresql:dev
        injector.tengu.io/handler-volumes: handlers=/handlers
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: localhost/orcon/postgresql:dev
          command:
            - sh
            - -euc
            - |
              PATH=/orcon/tools:$PATH
              export PGCONNECT_TIMEOUT=5 PGOPTIONS='-c client_min_messages=warning'
              cd "$SERVICE_BINDING_ROOT/store"
              note() { echo "$1 $n" >>"/journal/$HOSTNAME"; }
              row() {
                password=$(secret-get --refresh "$(cat password)" password) || return
                PGPASSWORD=$password timeout 10 psql -qtA -h "$(cat host)" -U "$(cat username)" -d "$(cat database)" -v ON_ERROR_STOP=1 \
                  -c "CREATE TABLE IF NOT EXISTS written (tenant text, n bigint); INSERT INTO written VALUES ('%[1]s', $n)" || return
                note row
              }
              rounds=0
              while :; do
                n=$(date +%%s%%N) rounds=$((rounds + 1))
                row || true
                relation=$(relation-ids store) || true
                ! relation-set -r "$relation" n="$n" || note write
                [ $((rounds %% 20)) -ne 0 ] || [ "$(is-leader)" != True ] || relation-set -r "$relation" --app rotate="$n" || true
                sleep 1
              done
          volumeMounts: [{name: journal, mountPath: /journal}]
      volumes:
        - name: journal
          hostPath: {path: %[4]s}
        - name: handlers
          configMap: {name: %[1]s, defaultMode: 0755}
`

// cityReads prints what the units of a tenant have written.
const cityReads = `
  PATH=/orcon/tools:$PATH
  for relation in $(relation-ids database); do
    tenant=$(relation-list -r "$relation" --app)
    [ "${tenant%%.*}" = %s ] || continue
    for unit in $(relation-list -r "$relation"); do relation-get -r "$relation" n "$unit"; done
  done
`
