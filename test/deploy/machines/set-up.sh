# Makes of a mount namespace a machine: accounts, settings, data and programs of its own. Then waits for its end.
# $1: a folder for this machine; $2: the checkout; $3: the folder with the stand-in of systemd
set -eu
cp -a /etc "$1/etc"
rm -rf "$1/etc/postgresql"
mkdir "$1/etc/postgresql" "$1/local" "$1/postgres"
cp -a /usr/local/bin/. "$1/local/"
cp "$3/systemctl.js" "$1/local/systemctl"
chmod 755 "$1/local/systemctl"
mount --bind "$1/etc" /etc
mount --bind "$1/local" /usr/local/bin

# Debian's newest Postgres of this host stands for 18, where there is none.
if [ ! -d /usr/lib/postgresql/18 ]; then
  mount --bind "/usr/lib/postgresql/$(ls /usr/lib/postgresql | sort -n | tail -n 1)" "$1/postgres"
  mount -t tmpfs none /usr/lib/postgresql
  mkdir /usr/lib/postgresql/18
  mount --bind "$1/postgres" /usr/lib/postgresql/18
fi

for folder in /run /opt /srv /var/lib /var/log /var/backups; do
  mount -t tmpfs -o mode=755 none "$folder"
done
install -d -o postgres -g postgres /var/lib/postgresql /var/log/postgresql
install -d -o postgres -g postgres -m 2775 /run/postgresql
# A disk of its own.
mkdir /var/lib/anchoring-promise
mount -t tmpfs -o mode=700 none /var/lib/anchoring-promise

mkdir -p /opt/event-anchoring/4.2.0 /opt/event-anchoring/4.2.1 /srv/node
mount --bind "$2" /opt/event-anchoring/4.2.0
mount --bind "$2" /opt/event-anchoring/4.2.1
# The next release: the same code, with another version number.
for package in api/dist/process control-contract/dist; do
  next=$(mktemp -p "$1")
  sed 's/"4\.2\.0"/"4.2.1"/' "$2/packages/$package/service-version.js" > "$next"
  chmod 644 "$next"
  mount --bind "$next" "/opt/event-anchoring/4.2.1/packages/$package/service-version.js"
done
ln -s 4.2.0 /opt/event-anchoring/current
ip link set lo up
echo ready
# Also takes leave of processes whose parents are gone.
while :; do sleep 3600; done
