#!/bin/sh
# The accounts of a node, and what each may read: docs/operating/systemd.md. Run as root in the folder that holds
# identity/, api/, control-plane.json and api.json of this node.
set -eu
adduser --quiet --system --group --no-create-home anchoring
adduser --quiet --system --group --no-create-home anchoring-api
adduser --quiet --system --group --no-create-home anchoring-backup
install -d /etc/anchoring
install -d -o anchoring -g anchoring -m 700 /etc/anchoring/control-plane /etc/anchoring/control-plane/identity
install -d -o anchoring-api -g anchoring-api -m 700 /etc/anchoring/api
install -d -o anchoring-backup -g anchoring-backup -m 700 /etc/anchoring/backup
install -o anchoring -g anchoring -m 600 control-plane.json /etc/anchoring/control-plane/
install -o anchoring -g anchoring -m 600 identity/* /etc/anchoring/control-plane/identity/
install -o anchoring-api -g anchoring-api -m 600 api.json api/root-thk.txt api/tls.crt api/tls.key /etc/anchoring/api/
install -o anchoring-backup -g anchoring-backup -m 600 api.json /etc/anchoring/backup/
install -o anchoring-backup -g anchoring-backup -m 644 identity/trust-root.txt identity/root-thk.txt \
  /etc/anchoring/backup/
