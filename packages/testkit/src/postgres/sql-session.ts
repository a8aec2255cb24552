import pg from "pg";

/** One session with a database, to look at tables and to damage them. */
export class SqlSession {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(url: string): Promise<SqlSession> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return new SqlSession(client);
  }

  /** Numbers of 64 bits come as text, as the driver has them. */
  async rows(sql: string, values: readonly unknown[] = []): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { rows } = await this.#client.query<Record<string, unknown>>(sql, [...values]);
    return rows;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
