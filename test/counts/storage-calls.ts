import type { OpenStorage } from "@event-anchoring/control-plane";
import { SimulatedDatabase } from "@event-anchoring/simulator";

/** Counts what nodes ask of databases that are opened after it began. */
export class StorageCalls {
  /** Each waits for the disk. */
  appends = 0;
  /** Each is a transaction that waits for no disk. */
  applies = 0;
  factQueries = 0;
  readonly #open = SimulatedDatabase.prototype.open;

  constructor() {
    const { open } = SimulatedDatabase.prototype;
    const counted = (storage: OpenStorage): OpenStorage => this.#counted(storage);
    SimulatedDatabase.prototype.open = async function (this: SimulatedDatabase, ...args): Promise<OpenStorage> {
      return counted(await open.apply(this, args));
    };
  }

  end(): void {
    SimulatedDatabase.prototype.open = this.#open;
  }

  #counted(storage: OpenStorage): OpenStorage {
    const { log, ledger } = storage;
    return {
      ...storage,
      log: {
        ...log,
        append: (request) => {
          this.appends += 1;
          return log.append(request);
        },
      },
      ledger: {
        ...ledger,
        apply: (...run) => {
          this.applies += 1;
          return ledger.apply(...run);
        },
        loadFacts: (query) => {
          this.factQueries += 1;
          return ledger.loadFacts(query);
        },
      },
    };
  }
}
