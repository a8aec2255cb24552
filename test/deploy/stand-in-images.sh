#!/bin/sh
# Builds stand-ins for the images that docker-compose.yml and deploy/Dockerfile name, for machines that cannot pull:
# from Debian packages, this machine's Node.js, and this machine's certificates for the build.
# Usage: stand-in-images.sh <folder> <node image> <postgres image> <haproxy image> <prometheus image> <grafana image>
# Needs root, a Docker engine, debootstrap. What a stand-in shares with the image it stands for: the account, the paths,
# the volumes, and what the entrypoint does with the settings that docker-compose.yml uses. Nothing else is claimed.
set -eu
folder=$1 node_image=$2 postgres_image=$3 haproxy_image=$4 prometheus_image=$5 grafana_image=$6
root="$folder/rootfs"
export DOCKER_BUILDKIT=0

if [ ! -e "$folder/rootfs.ready" ]; then
  rm -rf "$root"
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=ca-certificates,libstdc++6,libatomic1,haproxy,bash bookworm "$root" \
    ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
  # No service is started in a chroot, and no cluster of the packager's is made.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  mkdir -p "$root/etc/postgresql-common"
  echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"
  DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y --no-install-recommends postgresql-15 prometheus
  chroot "$root" apt-get clean
  touch "$folder/rootfs.ready"
fi
tar -C "$root" -c . | docker import - anchoring-stand-in:base >/dev/null

context="$folder/context"
rm -rf "$context"
mkdir -p "$context/npm"
cp "$(command -v node)" "$context/node"
cp -RL "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")/." "$context/npm/"
cp /etc/ssl/certs/ca-certificates.crt "$context/ca-certificates.crt"

node_version=$(node --version)
cat >"$context/node.Dockerfile" <<END
FROM anchoring-stand-in:base
ENV NODE_VERSION=${node_version#v}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
    && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \\
    && useradd --uid 1000 --create-home node
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
CMD ["node"]
END

cat >"$context/postgres-entrypoint.sh" <<'END'
#!/bin/bash
# As the entrypoint of the image it stands for, for what docker-compose.yml uses of it.
set -eu
if [ "${1:-}" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  if [ "${POSTGRES_HOST_AUTH_METHOD:-}" = trust ]; then
    initdb --username=postgres --auth=trust >/dev/null
    echo 'host all all all trust' >>"$PGDATA/pg_hba.conf"
  else
    : "${POSTGRES_PASSWORD:?}"
    initdb --username=postgres --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") --auth-host=scram-sha-256 >/dev/null
  fi
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  pg_ctl -D "$PGDATA" -w -o "$(printf '%q ' "${@:2}" -c listen_addresses=)" start
  for file in /docker-entrypoint-initdb.d/*.sql; do
    [ -e "$file" ] || continue
    psql -v ON_ERROR_STOP=1 --no-psqlrc --username=postgres --dbname=postgres --file="$file"
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
END
cat >"$context/postgres.Dockerfile" <<'END'
FROM anchoring-stand-in:base
RUN usermod --uid 999 postgres && groupmod --gid 999 postgres \
    && rm -rf /var/lib/postgresql /var/run/postgresql \
    && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql \
    && install -d -o postgres -g postgres -m 3777 /var/run/postgresql && mkdir /docker-entrypoint-initdb.d
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["bash", "/usr/local/bin/docker-entrypoint.sh"]
CMD ["postgres"]
END

cat >"$context/haproxy.Dockerfile" <<'END'
FROM anchoring-stand-in:base
USER haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["/usr/sbin/haproxy", "-W", "-db"]
CMD ["-f", "/usr/local/etc/haproxy/haproxy.cfg"]
END

cat >"$context/prometheus.Dockerfile" <<'END'
FROM anchoring-stand-in:base
RUN install -d -o 65534 -g 65534 /prometheus
USER nobody
VOLUME /prometheus
ENTRYPOINT ["/usr/bin/prometheus"]
END

# Only something that listens where Grafana does: the dashboard is held against its schema elsewhere.
cat >"$context/grafana.Dockerfile" <<END
FROM $node_image
RUN install -d -o 472 -g 0 /var/lib/grafana
USER 472:0
VOLUME /var/lib/grafana
CMD ["node", "--eval", "require('node:http').createServer((_, answer) => answer.end()).listen(3000)"]
END

for name in node postgres haproxy prometheus grafana; do
  eval "tag=\$${name}_image"
  docker build --quiet --file "$context/$name.Dockerfile" --tag "$tag" "$context" >/dev/null
  echo "made a stand-in for $tag"
done
