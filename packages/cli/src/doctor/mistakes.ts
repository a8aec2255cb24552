/** Every mistake that doctor names, and the page of docs/operating that says what to do. */

type Level = "fail" | "warn";

const PAGES = "docs/operating/";

const mistake = <Kind extends Level>(level: Kind, page: string): { readonly level: Kind; readonly page: string } => ({
  level,
  page,
});

export const MISTAKES = {
  settings_unreadable: mistake("fail", "configuration.md"),
  settings_open: mistake("fail", "install.md#what-others-can-read"),
  settings_wrong: mistake("fail", "configuration.md"),
  settings_differ: mistake("fail", "configuration.md#api-process"),
  socket_differs: mistake("fail", "configuration.md#api-process"),
  api_owns_tables: mistake("fail", "systemd.md#a-node"),
  peer_is_itself: mistake("fail", "configuration.md#control-plane"),
  peer_missing: mistake("fail", "membership.md"),
  peer_unlisted: mistake("warn", "membership.md"),
  listens_everywhere: mistake("warn", "configuration.md#control-plane"),

  identity_missing: mistake("fail", "ceremony.md#hand-out"),
  identity_open: mistake("fail", "install.md#what-others-can-read"),
  owner_wrong: mistake("fail", "install.md#what-others-can-read"),
  identity_malformed: mistake("fail", "ceremony.md#hand-out"),
  pin_stale: mistake("fail", "ceremony.md#hand-out"),
  trust_root_refused: mistake("fail", "trust-root.md"),
  trust_root_expires: mistake("warn", "trust-root.md"),
  trust_root_expired: mistake("fail", "trust-root.md"),
  cluster_differs: mistake("fail", "configuration.md#control-plane"),
  node_unlisted: mistake("warn", "membership.md"),
  keys_swapped: mistake("fail", "ceremony.md#hand-out"),
  log_seed_wrong: mistake("fail", "ceremony.md#hand-out"),
  api_pin_differs: mistake("fail", "configuration.md#api-process"),
  origin_differs: mistake("fail", "configuration.md#api-process"),

  certificate_expires: mistake("warn", "certificates.md#renew"),
  certificate_expired: mistake("fail", "certificates.md#renew"),
  certificate_key_differs: mistake("fail", "certificates.md#renew"),
  certificate_of_another: mistake("fail", "certificates.md#renew"),
  certificate_not_issued: mistake("fail", "certificates.md#another-ca"),
  authority_not_pinned: mistake("fail", "certificates.md#another-ca"),

  promise_with_database: mistake("fail", "install.md#on-three-hosts"),
  promise_folder_missing: mistake("fail", "systemd.md#a-node"),
  promise_open: mistake("fail", "install.md#what-others-can-read"),
  promise_damaged: mistake("fail", "replace.md"),
  promise_of_another: mistake("fail", "replace.md"),
  disk_full: mistake("warn", "replace.md#a-full-disk"),

  peer_unknown_name: mistake("fail", "install.md#on-three-hosts"),
  peer_refused: mistake("warn", "install.md#on-three-hosts"),
  peer_silent: mistake("fail", "install.md#on-three-hosts"),
  peer_is_another: mistake("fail", "install.md#on-three-hosts"),
  database_down: mistake("fail", "first-day.md#a-container-that-is-not-healthy"),
  control_plane_down: mistake("fail", "first-day.md#a-container-that-is-not-healthy"),
  api_down: mistake("fail", "first-day.md#a-container-that-is-not-healthy"),
  not_ready: mistake("fail", "first-day.md#is-it-well"),

  clock_not_kept: mistake("fail", "install.md#on-three-hosts"),
  clock_differs: mistake("fail", "alerts.md#anchoringclockahead"),

  backup_missing: mistake("fail", "backup.md#how-often-and-where-to"),
  backup_old: mistake("fail", "backup.md#how-often-and-where-to"),
  backup_open: mistake("fail", "backup.md"),
  backup_cut: mistake("fail", "kept-backups.md#when-something-is-wrong"),
  drill_failed: mistake("fail", "kept-backups.md#the-drill"),
  backup_with_database: mistake("warn", "backup.md#how-often-and-where-to"),

  node_js_old: mistake("fail", "install.md#versions"),
  release_differs: mistake("warn", "upgrade.md#each-node"),
} as const;

export type MistakeCode = keyof typeof MISTAKES;

/** One mistake, in one line. */
export interface Finding {
  readonly code: MistakeCode;
  readonly detail: string;
}

export const finding = (code: MistakeCode, detail: string): Finding => ({ code, detail });

/** What one check has come to. */
export interface Checked {
  readonly check: string;
  readonly findings: readonly Finding[];
  /** Said when nothing is wrong. */
  readonly good: string;
  /** What was not looked at, and what would have it looked at; null: all was. */
  readonly notLookedAt: string | null;
}

/** What a reader is told of a finding. */
export const lineOf = ({ code, detail }: Finding): string => `${detail} (${PAGES}${MISTAKES[code].page})`;

/** What a program is told of a check. */
export function jsonOf({ check, findings, notLookedAt }: Checked): object {
  return {
    check,
    findings: findings.map(({ code, detail }) => {
      const { level, page } = MISTAKES[code];
      return { code, level, detail, page: PAGES + page };
    }),
    not_looked_at: notLookedAt,
  };
}
