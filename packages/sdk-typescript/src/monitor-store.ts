/** What a Monitor has to remember between its runs. */
export interface MonitorState {
  /** Whose it is, 64 hex digits: what one cluster has shown says nothing about another. */
  readonly clusterId: string;
  /** The highest trust root seen. */
  readonly trustRoot: { readonly version: number; readonly rootThk: string };
  /** By origin fingerprint: the signed note of the newest checkpoint that was seen and verified. */
  readonly checkpoints: Readonly<Record<string, string>>;
}

/** Where it is kept. Setting it back would hide a rollback, so it does not belong beside the service. */
export interface MonitorStore {
  /** null: nothing was saved yet. */
  load(): Promise<MonitorState | null>;
  /** Resolves once it would survive the end of this process. */
  save(state: MonitorState): Promise<void>;
  /** Takes signed notes that contradict one another. The state stays as it is. */
  saveEvidence?(notes: readonly string[]): Promise<void>;
}

/** Keeps it as long as the process lives. */
export class MemoryMonitorStore implements MonitorStore {
  #state: MonitorState | null = null;

  load(): Promise<MonitorState | null> {
    return Promise.resolve(this.#state);
  }

  save(state: MonitorState): Promise<void> {
    this.#state = state;
    return Promise.resolve();
  }
}
