import type { OriginFingerprint } from "@event-anchoring/protocol";

/** Rows looked at in one statement: it takes a few ms between two applies. */
const THINNED_ROWS_MAX = 500;

/** The recorded certificates, as thinning needs them. */
export interface CertificateRows {
  thinCertificates(request: {
    readonly originFingerprint: OriginFingerprint;
    /** This many of the newest certificates all stay. */
    readonly kept: number;
    /** Certificates of larger trees than this are looked at. */
    readonly after: number;
    readonly rowsMax: number;
  }): Promise<{ readonly after: number; readonly deleted: number }>;
}

export interface CertificateThinningOptions {
  readonly rows: CertificateRows;
  readonly kept: number;
  readonly origins: () => readonly OriginFingerprint[];
  readonly onFailure: (error: unknown) => void;
}

/**
 * Node-local housekeeping: heads are certified up to ten times a second for years, and serving and deciding need only
 * the newest. One page of one origin at a time, on a timer, in parallel with applying.
 */
export class CertificateThinning {
  readonly #options: CertificateThinningOptions;
  /** The tree size up to which an origin is thinned, keyed by the fingerprint object in the state. */
  readonly #after = new Map<OriginFingerprint, number>();
  #turn = 0;
  #deleted = 0;
  #isRunning = false;

  constructor(options: CertificateThinningOptions) {
    this.#options = options;
  }

  /** Rows deleted in this session. */
  get deleted(): number {
    return this.#deleted;
  }

  /** The next page of the next origin. */
  look(): void {
    const { rows, kept, onFailure } = this.#options;
    const origins = this.#options.origins();
    const originFingerprint = origins[this.#turn % Math.max(1, origins.length)];
    if (this.#isRunning || originFingerprint === undefined) return;
    this.#isRunning = true;
    this.#turn += 1;
    const after = this.#after.get(originFingerprint) ?? 0;
    rows
      .thinCertificates({ originFingerprint, kept, after, rowsMax: THINNED_ROWS_MAX })
      .then((done) => {
        this.#isRunning = false;
        this.#deleted += done.deleted;
        this.#after.set(originFingerprint, done.after);
      })
      .catch(onFailure);
  }
}
