import { isPassing } from "@event-anchoring/sdk";
import type { RawAnswer } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Service } from "../service/service.ts";

const BYTES = "application/octet-stream";

/** A public log as anybody may read it, or one that the API key opens. */
export class PublicLog {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** The newest signed note. Null: the origin has no certified tree yet. */
  async checkpoint(originFingerprint: string): Promise<string | null> {
    const answer = await this.#ask(`/v1/origins/${originFingerprint}/checkpoint`, "text/plain");
    if (answer.status === 404) return null;
    return Buffer.from(taken(answer).body).toString("utf8");
  }

  /** @param path of the log, such as `tile/entries/000` */
  async bytes(originFingerprint: string, path: string): Promise<Uint8Array> {
    return taken(await this.#ask(`/v1/origins/${originFingerprint}/${path}`, BYTES)).body;
  }

  /** The proof page. Null: this node serves none. */
  async page(): Promise<Uint8Array | null> {
    const answer = await this.#ask("/", "text/html");
    return answer.status === 200 ? answer.body : null;
  }

  /** The answer as it came. */
  async trustRoot(): Promise<Uint8Array> {
    return taken(await this.#ask("/v1/trust-root", "application/json")).body;
  }

  #ask(path: string, accept: string): Promise<RawAnswer> {
    const isAnswer = (status: number): boolean => !isPassing(status);
    return this.#service.call((client) => client.request({ path, accept, isAnswer }));
  }
}

/** @throws CliError `refused` */
function taken(answer: RawAnswer): RawAnswer {
  if (answer.status === 200) return answer;
  const hint = answer.status === 401 ? ": the log is not public, and takes an API key with the scope read" : "";
  throw new CliError(EXIT.refused, `status_${answer.status}`, `${answer.endpoint} answered ${answer.status}${hint}`);
}
