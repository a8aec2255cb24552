import { readFileSync, statSync } from "node:fs";
import { CONTROL_PLANE_SETTINGS, SettingsError, SettingsFaults, readSettings } from "@event-anchoring/control-contract";
import type { ControlPlaneSettings } from "@event-anchoring/control-contract";
import type { PeerAddress } from "../transport/network-types.ts";

/** A setting is missing or wrong; the message names it and says what it must be. */
export const ConfigError = SettingsError;
export type ConfigError = SettingsError;

export type ControlPlaneConfig = ControlPlaneSettings;

/** The peers of a control plane's settings. */
export function peersOf({ peers }: ControlPlaneConfig): readonly PeerAddress[] {
  return peers.map(({ node_id: nodeId, host, port }) => ({ nodeId, host, port }));
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks the settings of a control-plane process.
 * @param environment its variables that begin with the prefix override the file
 * @throws ConfigError naming every fault
 */
export function loadConfig(path: string, environment: Variables = {}): ControlPlaneConfig {
  const faults = new SettingsFaults();
  const text = readText(path);
  faults.take(() => assertPrivate(path));
  const settings = faults.take(() => readSettings(CONTROL_PLANE_SETTINGS, { path, text, environment }));
  if (settings !== null) faults.take(() => assertOthers(path, settings));
  faults.assertNone();
  // Without a fault there are settings.
  if (settings === null) throw new ConfigError(`cannot read the settings in ${path}`);
  return Object.freeze(settings);
}

function assertOthers(path: string, { peers, node_id: nodeId }: ControlPlaneSettings): void {
  if (peers.some((peer) => peer.node_id === nodeId)) {
    throw new ConfigError(`${path}: peers: ${nodeId} is this node itself`);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`cannot read the settings in ${path}`, { cause });
  }
}

function assertPrivate(path: string): void {
  if ((statSync(path).mode & 0o077) !== 0) throw new ConfigError(`${path} is readable by others; chmod 600 it`);
}
