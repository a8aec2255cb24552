import { readFileSync } from "node:fs";
import { ConfigError, type ControlPlaneConfig, peersOf } from "../node/config.ts";
import type { Environment } from "../ports/environment.ts";
import type { PeerAddress } from "../transport/network-types.ts";

/** How often the settings are checked for changed peers. */
const LOOK_MS = 5000;

export interface PeerWatchOptions {
  readonly environment: Pick<Environment, "clock" | "logger">;
  /** Looked at for changes. */
  readonly configPath: string;
  /** Reads the settings anew. @throws ConfigError */
  readonly loadConfig: () => ControlPlaneConfig;
  readonly config: ControlPlaneConfig;
  readonly onPeers: (peers: readonly PeerAddress[]) => void;
}

/**
 * Follows the list of peers in the settings file, so that no node has to be restarted because another one joins. All
 * other settings take effect at the next start. A file that cannot be used is reported, and changes nothing.
 */
export class PeerWatch {
  readonly #options: PeerWatchOptions;
  #seen: string;
  #peers: string;

  constructor(options: PeerWatchOptions) {
    this.#options = options;
    this.#seen = textOf(options.configPath);
    this.#peers = JSON.stringify(peersOf(options.config));
    this.#wait();
  }

  /** Looks now. */
  look(): void {
    const { configPath, environment, loadConfig, onPeers } = this.#options;
    const text = textOf(configPath);
    if (text === this.#seen) return;
    this.#seen = text;
    try {
      const peers = peersOf(loadConfig());
      const printed = JSON.stringify(peers);
      if (printed === this.#peers) return;
      this.#peers = printed;
      onPeers(peers);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      environment.logger.error("settings_refused", { reason: error.message });
    }
  }

  #wait(): void {
    this.#options.environment.clock.startTimer(LOOK_MS, () => {
      this.look();
      this.#wait();
    });
  }
}

/** Empty for a file that is not there: it may be on its way. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (typeof error === "object" && error !== null && "code" in error) return "";
    throw error;
  }
}
