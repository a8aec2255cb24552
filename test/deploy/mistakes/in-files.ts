/** Settings, keys, trust roots and certificates that are not what they should be. */
import type { SeededMistake } from "./seeded-mistake.ts";

export const SETTINGS: readonly SeededMistake[] = [
  {
    code: "settings_unreadable",
    title: "the settings are gone",
    keeps: "$CP/control-plane.json",
    seed: "rm $CP/control-plane.json",
    says: "control-plane.json: there is no such file",
  },
  {
    code: "settings_open",
    title: "others can read the settings",
    keeps: "$API/api.json",
    seed: "chmod 644 $API/api.json",
    says: "others can read /etc/anchoring/api/api.json: chmod 600 it",
  },
  {
    code: "settings_wrong",
    title: "a setting is misspelt",
    keeps: "$API/api.json",
    seed: `edit $API/api.json 's.acess_log = "all"'`,
    says: "acess_log",
  },
  {
    code: "settings_wrong",
    title: "a setting of the api process is among those of the control plane",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.proxies = []'`,
    says: "proxies",
  },
  {
    code: "settings_wrong",
    title: "the settings are cut short",
    keeps: "$API/api.json",
    seed: "truncate -s -3 $API/api.json",
    says: "not JSON",
  },
  {
    code: "settings_differ",
    title: "the api process has the name of another node",
    keeps: "$API/api.json",
    seed: `edit $API/api.json 's.node_id = "n3"'`,
    says: "node_id of the api process",
  },
  {
    code: "socket_differs",
    title: "the api process looks for another socket",
    keeps: "$API/api.json",
    seed: `edit $API/api.json 's.control_socket = "/run/control.sock"'`,
    says: "is /run/control.sock, the control plane has /run/anchoring/control.sock",
  },
  {
    code: "api_owns_tables",
    title: "the api process has the role of the owner",
    keeps: "$API/api.json",
    seed: "sed -i s/anchoring_reader/anchoring_owner/ $API/api.json",
    says: "the role anchoring_owner",
  },
  {
    code: "peer_is_itself",
    title: "the node is among its peers",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.peers.push({ node_id: "n2", host: "n2.control.internal", port: 7400 })'`,
    says: "peers names n2, which is this node",
  },
  {
    code: "peer_missing",
    title: "a peer is left out",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.peers = s.peers.filter((peer) => peer.node_id !== "n3")'`,
    says: "the trust root lists n3, and peers does not name it",
  },
  {
    code: "peer_unlisted",
    title: "a peer has retired",
    seed: "for_owner wrong/trust-root-without-n3.txt $ID/trust-root-2.txt",
    undo: "rm $ID/trust-root-2.txt",
    says: "peers names n3, no member by the trust root",
  },
  {
    code: "listens_everywhere",
    title: "metrics are served on every address",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.metrics = { host: "0.0.0.0", port: 9101 }'`,
    says: "metrics.host is 0.0.0.0",
  },
];

export const IDENTITY: readonly SeededMistake[] = [
  {
    code: "identity_missing",
    title: "a file was not handed out",
    keeps: "$ID/log.seed",
    seed: "rm $ID/log.seed",
    says: "there is no /etc/anchoring/control-plane/identity/log.seed",
  },
  {
    code: "identity_open",
    title: "the group can read a key",
    keeps: "$ID/cosigner.key",
    seed: "chmod 640 $ID/cosigner.key",
    says: "others can read /etc/anchoring/control-plane/identity/cosigner.key",
  },
  {
    code: "identity_malformed",
    title: "a key is cut short",
    keeps: "$ID/auth.key",
    seed: "truncate -s 32 $ID/auth.key",
    says: "auth.key does not hold 64 hex digits",
  },
  {
    code: "owner_wrong",
    title: "root has copied a key",
    keeps: "$ID/auth.key",
    seed: "chown root:root $ID/auth.key",
    says: "/etc/anchoring/control-plane/identity/auth.key belongs to user 0",
  },
  {
    code: "owner_wrong",
    title: "root has unpacked all files of the control plane",
    keeps: "$CP",
    seed: "chown -R root:root $CP",
    says: "/etc/anchoring/control-plane/control-plane.json and 8 more belong to user 0",
  },
  {
    code: "owner_wrong",
    title: "root has renewed the certificate of the api process",
    keeps: "$API/tls.key",
    seed: "chown root:root $API/tls.key",
    says: "/etc/anchoring/api/tls.key belongs to user 0",
  },
  {
    code: "owner_wrong",
    title: "root has made the promise file",
    seed: "chown root:root $PROMISES/promise.bin",
    undo: "chown anchoring:anchoring $PROMISES/promise.bin",
    says: "/var/lib/anchoring-promise/promise.bin belongs to user 0",
  },
  {
    code: "pin_stale",
    title: "the pin is that of another ceremony",
    keeps: "$ID/root-thk.txt",
    seed: "sha256sum /etc/hostname | cut -d ' ' -f 1 > $ID/root-thk.txt",
    says: "root-thk.txt does not pin trust-root.txt beside it",
  },
  {
    code: "trust_root_refused",
    title: "a version of the trust root is there twice",
    seed: "for_owner $ID/trust-root.txt $ID/trust-root-2.txt",
    undo: "rm $ID/trust-root-2.txt",
    says: "trust-root-2.txt: ",
  },
  {
    code: "trust_root_expires",
    title: "the trust root ends in ten days",
    seed: "for_owner wrong/trust-root-ending.txt $ID/trust-root-2.txt",
    undo: "rm $ID/trust-root-2.txt",
    says: "trust root 2 expires in 9 days",
  },
  {
    code: "trust_root_expired",
    title: "the trust root has ended",
    seed: "for_owner wrong/trust-root-ended.txt $ID/trust-root-2.txt",
    undo: "rm $ID/trust-root-2.txt",
    says: "trust root 2 expired on",
  },
  {
    code: "cluster_differs",
    title: "the settings are those of another cluster",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.cluster_id = "ab".repeat(32)'`,
    says: "cluster_id is not that of the trust root",
  },
  {
    code: "node_unlisted",
    title: "a node is prepared that no trust root lists",
    seed: `cp $CP/control-plane.json $API/api.json wrong/n4/
for file in control-plane api; do
  edit wrong/n4/$file.json 's.node_id = "n4"; s.identity_dir = "/srv/node/wrong/n4/'$file'"'
done
mv wrong/n4/identity wrong/n4/control-plane
edit wrong/n4/control-plane.json 's.promise_file = "/var/lib/anchoring-promise/n4.bin"
  s.peers.push({ node_id: "n2", host: "n2.control.internal", port: 7400 })'
edit wrong/n4/api.json 's.tls = { certificate: s.identity_dir + "/tls.crt", key: s.identity_dir + "/tls.key" }'
chown -R anchoring wrong/n4/control-plane*
chmod 600 wrong/n4/*/* wrong/n4/*.json`,
    options: "--control-plane wrong/n4/control-plane.json --api wrong/n4/api.json",
    says: "trust root 1 does not list n4",
  },
  {
    code: "keys_swapped",
    title: "a key is that of another node",
    keeps: "$ID/auth.key",
    seed: "cp wrong/n3/identity/auth.key $ID/auth.key",
    says: "auth.key is a key of n3, not the auth key of n2",
  },
  {
    code: "log_seed_wrong",
    title: "the log seed is that of another cluster",
    keeps: "$ID/log.seed",
    seed: "sha256sum /etc/hostname | cut -d ' ' -f 1 > $ID/log.seed",
    says: "log.seed is not the log seed of this cluster",
  },
  {
    code: "api_pin_differs",
    title: "the pin of the api process is that of another ceremony",
    keeps: "$API/root-thk.txt",
    seed: "sha256sum /etc/hostname | cut -d ' ' -f 1 > $API/root-thk.txt",
    says: "/etc/anchoring/api/root-thk.txt is not the pin that the control plane has",
  },
  {
    code: "origin_differs",
    title: "the origin is not this node's",
    keeps: "$API/api.json",
    seed: `edit $API/api.json 's.origin_fingerprint = "ab".repeat(32)'`,
    says: "origin_fingerprint is not that of n2",
  },
];

export const CERTIFICATES: readonly SeededMistake[] = [
  {
    code: "certificate_expires",
    title: "a certificate ends in five days",
    keeps: "$ID/tls.crt $ID/tls.key",
    seed: "cp wrong/ending/tls.* $ID/",
    says: "identity/tls.crt expires in 119 hours",
  },
  {
    code: "certificate_expired",
    title: "the certificate of the control plane has ended",
    keeps: "$ID/tls.crt $ID/tls.key",
    seed: "cp wrong/ended-node/tls.* $ID/",
    says: "identity/tls.crt expired at",
  },
  {
    code: "certificate_expired",
    title: "the certificate of the api process has ended",
    keeps: "$API/tls.crt $API/tls.key",
    seed: "cp wrong/ended-api/tls.* $API/",
    says: "api/tls.crt expired at",
  },
  {
    code: "certificate_key_differs",
    title: "the TLS key is that of another node",
    keeps: "$ID/tls.key",
    seed: "cp wrong/n3/identity/tls.key $ID/",
    says: "tls.crt is for another key than",
  },
  {
    code: "certificate_of_another",
    title: "certificate and key are those of another node",
    keeps: "$ID/tls.crt $ID/tls.key",
    seed: "cp wrong/n3/identity/tls.* $ID/",
    says: "not for",
  },
  {
    code: "certificate_not_issued",
    title: "another CA has issued the certificate of the control plane",
    keeps: "$ID/tls.crt $ID/tls.key",
    seed: "cp wrong/other-node/tls.* $ID/",
    says: "identity/tls.crt was issued by no CA in ca.crt of the control plane",
  },
  {
    code: "certificate_not_issued",
    title: "another CA has issued the certificate of the api process",
    keeps: "$API/tls.crt $API/tls.key",
    seed: "cp wrong/other-api/tls.* $API/",
    says: "api/tls.crt was issued by no CA in ca.crt of the control plane",
  },
  {
    code: "authority_not_pinned",
    title: "the CA is one that no trust root pins",
    keeps: "$ID/ca.crt",
    seed: "cp wrong/other-node/ca.crt $ID/",
    says: "the trust root pins no CA in",
  },
];
