#!/bin/sh
# Makes a node of this Debian host; starts only its Postgres. Run as root in the folder that accounts.sh needs, with the
# plan's hosts beside: docs/operating/systemd.md. What is there already is left, or replaced by the same.
set -eu
systemd=$(dirname "$(readlink -f "$0")")

sh "$systemd/accounts.sh"

# Postgres, for this node alone. The accounts are there: pg_ident.conf names them.
if [ ! -d /etc/postgresql/18/anchoring ]; then
  pg_createcluster --port 5432 18 anchoring -- --data-checksums
  install -m 644 "$systemd/postgresql.conf" /etc/postgresql/18/anchoring/conf.d/anchoring.conf
  install -o postgres -g postgres -m 640 "$systemd/pg_hba.conf" "$systemd/pg_ident.conf" /etc/postgresql/18/anchoring/
fi
mkdir -p /etc/systemd/system
cp -r "$systemd/postgresql@18-anchoring.service.d" /etc/systemd/system/
install -m 644 "$systemd"/anchoring-*.service "$systemd"/anchoring-*.timer /etc/systemd/system/
systemctl daemon-reload
systemctl enable --now postgresql@18-anchoring
superuser() { runuser -u postgres -- psql --cluster 18/anchoring --no-psqlrc --quiet --tuples-only --no-align "$@"; }
if [ -z "$(superuser --command "SELECT 1 FROM pg_database WHERE datname = 'anchoring'")" ]; then
  superuser --set ON_ERROR_STOP=1 --file - < "$systemd/roles.sql"
fi

# By these names the nodes find one another.
while read -r line; do
  grep -qxF "$line" /etc/hosts || echo "$line" >> /etc/hosts
done < hosts
ln -sf /opt/event-anchoring/current/packages/cli/bin/anchorctl.js /usr/local/bin/anchorctl
