import { Pool } from "undici";

export interface LoadAnswer {
  readonly status: number;
  readonly text: string;
}

/** Many requests to one node over kept connections; what a benchmark and a load test write with. */
export class LoadClient {
  readonly apiUrl: string;
  readonly #pool: Pool;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: { readonly apiUrl: string; readonly apiKey: string; readonly connections: number }) {
    this.apiUrl = options.apiUrl;
    this.#pool = new Pool(options.apiUrl, { connections: options.connections, pipelining: 1 });
    this.#headers = { authorization: `Bearer ${options.apiKey}`, "content-type": "application/json" };
  }

  /** @throws an error of undici when there is no answer */
  async post(path: string, body: string, timeoutMs = 10_000): Promise<LoadAnswer> {
    const response = await this.#pool.request({
      method: "POST",
      path,
      headers: this.#headers,
      body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    return { status: response.statusCode, text: await response.body.text() };
  }

  async get(path: string, timeoutMs = 10_000): Promise<LoadAnswer> {
    const response = await this.#pool.request({
      method: "GET",
      path,
      headers: this.#headers,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    return { status: response.statusCode, text: await response.body.text() };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
