/** Disks, names, clocks, processes and backups that are not what they should be. */
import type { SeededMistake } from "./seeded-mistake.ts";

const N3_API = "https://n3.api.internal:8080";

export const DISKS: readonly SeededMistake[] = [
  {
    code: "promise_with_database",
    title: "the promise file is on the disk of the database",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.promise_file = "/var/lib/anchoring/promise.bin"'`,
    says: "/var/lib/anchoring/promise.bin is on the disk of the database",
  },
  {
    code: "promise_folder_missing",
    title: "the disk of the promise file has another place",
    keeps: "$CP/control-plane.json",
    seed: `edit $CP/control-plane.json 's.promise_file = "/var/lib/promise/promise.bin"'`,
    says: "there is no folder /var/lib/promise",
  },
  {
    code: "promise_open",
    title: "others can read the promise file",
    seed: "chmod 644 $PROMISES/promise.bin",
    undo: "chmod 600 $PROMISES/promise.bin",
    says: "others can read /var/lib/anchoring-promise/promise.bin",
  },
  {
    code: "promise_damaged",
    title: "the promise file was cut when it was carried to another name",
    keeps: "$CP/control-plane.json",
    seed: `head -c 100 $PROMISES/promise.bin > promise.bin
for_owner promise.bin $PROMISES/carried.bin
edit $CP/control-plane.json 's.promise_file = "/var/lib/anchoring-promise/carried.bin"'`,
    undo: "rm $PROMISES/carried.bin",
    says: "/var/lib/anchoring-promise/carried.bin: ",
  },
  {
    code: "promise_of_another",
    title: "the promise file is that of another node",
    keeps: "$CP/control-plane.json",
    seed: `for_owner wrong/promise-n3.bin $PROMISES/carried.bin
edit $CP/control-plane.json 's.promise_file = "/var/lib/anchoring-promise/carried.bin"'`,
    undo: "rm $PROMISES/carried.bin",
    says: "is the promise file of n3, not of n2",
  },
  {
    code: "disk_full",
    title: "a disk is full",
    seed: "mount -o remount,size=2m /var/backups && ! head -c 2m /dev/zero > /var/backups/filler",
    undo: "rm /var/backups/filler && mount -o remount,size=50% /var/backups",
    says: "the disk of /var/backups/anchoring is 100 % full",
  },
];

export const PEERS: readonly SeededMistake[] = [
  {
    code: "peer_unknown_name",
    title: "the name of a peer has no address",
    keeps: "/etc/hosts",
    seed: "sed -i /n3.control/d /etc/hosts",
    says: "n3 at n3.control.internal:7400: the name has no address here",
  },
  {
    code: "peer_refused",
    title: "a peer does not run",
    on: "n3",
    seed: "systemctl stop anchoring-control-plane",
    undo: "systemctl start anchoring-control-plane",
    says: "n3 at n3.control.internal:7400: the connection is refused",
  },
  {
    code: "peer_silent",
    title: "the name of a peer has the address of no machine",
    keeps: "/etc/hosts",
    seed: "sed -i 's/10.77.0.3 /10.77.0.99 /' /etc/hosts",
    says: "n3 at n3.control.internal:7400: no answer",
  },
  {
    code: "peer_silent",
    title: "a peer hangs",
    on: "n3",
    seed: "kill -STOP $(cat /run/anchoring-control-plane.pid)",
    undo: "kill -CONT $(cat /run/anchoring-control-plane.pid)",
    says: "n3 at n3.control.internal:7400: it takes the connection, and then says nothing",
  },
  {
    code: "peer_is_another",
    title: "the name of a peer has the address of another",
    keeps: "/etc/hosts",
    seed: "sed -i 's/10.77.0.3 /10.77.0.1 /' /etc/hosts",
    says: "n3.control.internal:7400 is the node n1, not n3",
  },
  {
    code: "release_differs",
    title: "another node runs the next release",
    on: "n3",
    seed: "ln -sfn 4.2.1 /opt/event-anchoring/current && systemctl restart anchoring-api",
    undo: "ln -sfn 4.2.0 /opt/event-anchoring/current && systemctl restart anchoring-api",
    options: `--api-url ${N3_API}`,
    says: `${N3_API} runs release 4.2.1, this node 4.2.0`,
  },
  ...[10_000, -10_000].map((clockOffsetMs): SeededMistake => {
    const side = clockOffsetMs > 0 ? "ahead of" : "behind";
    return {
      code: "clock_differs",
      title: `the clock is ${side} that of another node`,
      seed: "true",
      clockOffsetMs,
      options: `--api-url ${N3_API}`,
      says: `s ${side} that of ${N3_API}`,
    };
  }),
];

export const PROCESSES: readonly SeededMistake[] = [
  {
    code: "database_down",
    title: "Postgres is stopped",
    seed: "systemctl stop postgresql@18-anchoring",
    undo: "systemctl start postgresql@18-anchoring && systemctl restart anchoring-control-plane",
    says: "Postgres at /var/run/postgresql/.s.PGSQL.5432: ",
  },
  {
    code: "control_plane_down",
    title: "the control plane is stopped",
    seed: "systemctl stop anchoring-control-plane",
    undo: "systemctl start anchoring-control-plane",
    says: "the control plane at n2.control.internal:7400: refused",
  },
  {
    code: "api_down",
    title: "the api process is stopped",
    seed: "systemctl stop anchoring-api",
    undo: "systemctl start anchoring-api",
    says: "the api process at https://n2.api.internal:8080 does not answer",
  },
  {
    code: "not_ready",
    title: "the control plane hangs",
    seed: "kill -STOP $(cat /run/anchoring-control-plane.pid)",
    undo: "kill -CONT $(cat /run/anchoring-control-plane.pid)",
    says: "the node says: control_plane: ",
  },
];

export const BACKUPS: readonly SeededMistake[] = [
  {
    code: "backup_missing",
    title: "there is no backup",
    keeps: "$BACKUPS",
    seed: "rm $BACKUPS/*.age",
    says: "there is no backup in /var/backups/anchoring",
  },
  {
    code: "backup_old",
    title: "the newest backup is years old",
    keeps: "$BACKUPS",
    seed: `for file in $BACKUPS/*-n2.backup*; do mv "$file" "$BACKUPS/2020-01-01T000000Z-n2.\${file#*-n2.}"; done`,
    undo: "rm $BACKUPS/2020-*",
    says: "2020-01-01T000000Z-n2.backup.zst.age, is ",
  },
  {
    code: "backup_open",
    title: "others can read a backup",
    keeps: "$BACKUPS",
    seed: "chmod 644 $BACKUPS/*.age",
    says: "others can read /var/backups/anchoring/",
  },
  {
    code: "backup_cut",
    title: "the only backup is cut short",
    keeps: "$BACKUPS",
    seed: "truncate -s -1 $BACKUPS/*.age",
    says: "is not as long as when it was made, or has no note beside it: it does not count, and there is no other",
  },
  {
    code: "drill_failed",
    title: "a drill has failed",
    keeps: "$BACKUPS /etc/anchoring/backup/drill.key",
    seed: `anchorctl backup key other.key
install -o anchoring-backup -g anchoring-backup -m 600 other.key /etc/anchoring/backup/drill.key
! systemctl start anchoring-backup-drill`,
    says: "has failed with",
  },
  {
    code: "backup_with_database",
    title: "backups are on the disk of the database",
    seed: "cp -a $BACKUPS /var/lib/backups && mount --bind /var/lib/backups $BACKUPS",
    undo: "umount $BACKUPS && rm -r /var/lib/backups",
    says: "/var/backups/anchoring is on the disk of the database",
  },
];
