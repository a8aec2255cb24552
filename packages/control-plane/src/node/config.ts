import { readFileSync, statSync } from "node:fs";
import { CONTROL_PLANE_SETTINGS, SettingsError, readSettings } from "@event-anchoring/control-contract";
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
 * @throws ConfigError
 */
export function loadConfig(path: string, environment: Variables = {}): ControlPlaneConfig {
  const settings = readSettings(CONTROL_PLANE_SETTINGS, { path, text: readPrivate(path), environment });
  if (settings.peers.some((peer) => peer.node_id === settings.node_id)) {
    throw new ConfigError(`${path}: peers: ${settings.node_id} is this node itself`);
  }
  return Object.freeze(settings);
}

function readPrivate(path: string): string {
  let mode: number;
  let text: string;
  try {
    mode = statSync(path).mode;
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError(`cannot read the settings in ${path}`, { cause });
  }
  if ((mode & 0o077) !== 0) throw new ConfigError(`${path} is readable by others; chmod 600 it`);
  return text;
}
