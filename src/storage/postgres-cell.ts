import pg from 'pg';
import { AppError } from '../core/app-error.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { postgresLimits } from '../core/postgres-limits.ts';
import { encodeByteArray } from './byte-arrays.ts';
import { type PlainOperation, toKeyText } from './evaluate-group.ts';
import { connectPostgres, postgresError } from './postgres-connection.ts';

export interface CellOptions {
  /** postgres://... */
  readonly url: string;
  /** Name of the cell: all rows that are written by one owner at a time. */
  readonly cell: string;
  /** ID of this process, which no other one has. */
  readonly owner: string;
}

/** Operations of one transaction. */
export interface CellGroup {
  /** UUID, stored with the group: after a lost connection it shows whether the group was committed. */
  readonly id: string;
  readonly operations: readonly PlainOperation[];
}

/** Another process has taken over the cell. */
export class FencedError extends AppError {
  constructor() {
    super('unavailable', 'Another node has taken over the writes of this data. Try again shortly.', {
      retryAfterMs: 1_000,
    });
  }
}

/** The connection was lost during a commit. The outcome shows as `lastGroup` once the cell is retaken. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

interface CellRow {
  readonly epoch: string;
  readonly head: string;
  readonly last_group: string | null;
  readonly incarnation: string;
  readonly deletions_from: string;
}

const schema = `
CREATE TABLE IF NOT EXISTS q_cell (
  cell text PRIMARY KEY,
  incarnation uuid NOT NULL,
  epoch bigint NOT NULL,
  owner text NOT NULL,
  head bigint NOT NULL,
  last_group uuid,
  deletions_from bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS q_kv (
  cell text NOT NULL,
  key_hash bytea NOT NULL,
  key bytea NOT NULL,
  value bytea,
  seq bigint NOT NULL,
  PRIMARY KEY (cell, key_hash)
);
CREATE INDEX IF NOT EXISTS q_kv_seq ON q_kv (cell, seq);
ALTER TABLE q_kv ALTER COLUMN value SET STORAGE EXTERNAL;`;

const cellColumns = 'epoch, head, last_group, incarnation, deletions_from';
const takeStatement = `
INSERT INTO q_cell (cell, incarnation, epoch, owner, head) VALUES ($1, gen_random_uuid(), 1, $2, 0)
ON CONFLICT (cell) DO UPDATE SET epoch = q_cell.epoch + 1, owner = excluded.owner
RETURNING ${cellColumns}`;
const retakeStatement = `
UPDATE q_cell SET epoch = epoch + 1 WHERE cell = $1 AND owner = $2 RETURNING ${cellColumns}`;

/**
 * One statement, so that a commit takes one round trip, and the lock of the row in `q_cell` is never held while
 * PostgreSQL waits for this process. Without a row of the epoch, no row is written.
 */
const commitStatement = `
WITH fence AS (
  UPDATE q_cell SET head = head + 1, last_group = $3 WHERE cell = $1 AND epoch = $2 RETURNING head
), written AS (
  INSERT INTO q_kv (cell, key_hash, key, value, seq)
  SELECT $1, sha256(entry.key), entry.key, entry.value, fence.head
  FROM fence, unnest($4::bytea[], $5::bytea[]) AS entry (key, value)
  ON CONFLICT (cell, key_hash) DO UPDATE SET value = excluded.value, seq = excluded.seq
)
SELECT head FROM fence`;

/** The sums do not depend on the order of the rows, so that no side has to sort them. */
const digestStatement = `
WITH hashed AS (
  SELECT sha256(sha256(key) || sha256(value)) AS h FROM q_kv
  WHERE cell = $1 AND seq > $2 AND seq <= $3 AND value IS NOT NULL AND key <> ALL ($4::bytea[])
)
SELECT ARRAY[count(*)::text, ${[1, 9, 17, 25]
  .map((start) => `coalesce(sum(('x' || encode(substr(h, ${start}, 8), 'hex'))::bit(64)::bigint), 0)::text`)
  .join(', ')}] AS numbers FROM hashed`;
const deleteStatement = `
WITH fence AS (
  SELECT 1 FROM q_cell WHERE cell = $1 AND epoch = $2 FOR UPDATE
), deleted AS (
  DELETE FROM q_kv WHERE cell = $1 AND seq <= $3 AND key <> ALL ($4::bytea[]) AND EXISTS (SELECT FROM fence)
)
SELECT FROM fence`;

const removeStatement = `
WITH fence AS (
  UPDATE q_cell SET deletions_from = $4 WHERE cell = $1 AND epoch = $2 RETURNING head
), removed AS (
  DELETE FROM q_kv WHERE cell = $1 AND seq > $3 AND seq <= $4 AND value IS NULL AND EXISTS (SELECT FROM fence)
)
SELECT FROM fence`;

/** Rows of deleted keys are needed only by a cache that may have the key. */
const changesCursor = `
DECLARE changes NO SCROLL CURSOR FOR
SELECT key, value FROM q_kv WHERE cell = $1 AND seq > $2 AND (value IS NOT NULL OR $3) ORDER BY seq`;

/**
 * The rows of one cell in PostgreSQL, which this process owns since an epoch: a commit of an earlier epoch changes
 * nothing. Uses one connection. A cell whose connection is lost is replaced by `retake`.
 */
export class PostgresCell {
  readonly #client: pg.Client;
  readonly #cell: string;
  readonly #epoch: string;
  /** Identifies the history of commits: a cache of another one is useless. */
  readonly incarnation: string;
  #head: number;
  #lastGroup: string | null;
  #deletionsFrom: number;
  #isLost = false;

  /**
   * Reads values without taking over the cell; undefined for a missing key, and for all keys if there is no cell.
   * Errors: `AppError` unavailable.
   */
  static async peek(
    { url, cell }: Pick<CellOptions, 'url' | 'cell'>,
    keys: readonly Uint8Array[],
  ): Promise<(Uint8Array | undefined)[]> {
    return connectPostgres(url, async (client) => {
      const values = new Map<string, Buffer>();
      if (!(await isMissing(client))) {
        const query =
          'SELECT key, value FROM q_kv WHERE cell = $1 AND key_hash IN (SELECT sha256(k) FROM unnest($2::bytea[]) k)';
        const { rows } = await client.query<{ key: Buffer; value: Buffer | null }>(query, [
          cell,
          keys.map((key) => Buffer.from(key)),
        ]);
        for (const { key, value } of rows) if (value !== null) values.set(toKeyText(key), value);
      }
      await client.end();
      return keys.map((key) => values.get(toKeyText(key)));
    });
  }

  /** Takes over the cell, and creates it if it is missing. Errors: `AppError` unavailable. */
  static async take(options: CellOptions): Promise<PostgresCell> {
    return openCell(options, async (client) => {
      if (await isMissing(client)) await client.query(schema);
      return client.query<CellRow>(takeStatement, [options.cell, options.owner]);
    });
  }

  /**
   * Connects again, with a new epoch: a commit over the lost connection that has not ended yet will change nothing.
   * Errors: `FencedError`, `AppError` unavailable.
   */
  static async retake(options: CellOptions): Promise<PostgresCell> {
    return openCell(options, (client) =>
      client.query<CellRow>(retakeStatement, [options.cell, options.owner]),
    );
  }

  constructor(client: pg.Client, cell: string, row: CellRow) {
    this.#client = client;
    this.#cell = cell;
    this.#epoch = row.epoch;
    this.#head = Number(row.head);
    this.#lastGroup = row.last_group;
    this.#deletionsFrom = Number(row.deletions_from);
    this.incarnation = row.incarnation;
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
  }

  /** Sequence number of the last commit; 0 before the first one. */
  get head(): number {
    return this.#head;
  }

  /** Commit up to which the rows of deleted keys were removed: a cache of an earlier commit cannot be continued. */
  get deletionsFrom(): number {
    return this.#deletionsFrom;
  }

  /** ID of the last group; null before the first one. */
  get lastGroup(): string | null {
    return this.#lastGroup;
  }

  /** Increases with each owner and each connection. */
  get epoch(): number {
    return Number(this.#epoch);
  }

  /** Whether the connection is lost. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Commits all operations or none; afterwards `head` is the number of the group.
   *
   * Errors: `FencedError`, `OutcomeUnknownError`, or `AppError` unavailable if nothing was changed.
   */
  async commit(group: CellGroup, yieldToEventLoop: YieldToEventLoop): Promise<void> {
    const operations = lastOfEachKey(group.operations);
    const keys = operations.map(({ key }) => key);
    const values = operations.map((operation) => (operation.type === 'put' ? operation.value : null));
    const parameters = [
      ...[this.#cell, this.#epoch, group.id],
      await encodeByteArray(keys, yieldToEventLoop),
      await encodeByteArray(values, yieldToEventLoop),
    ];
    const [row] = await this.#runCommit(parameters);
    if (row === undefined) throw new FencedError();
    this.#head = Number(row.head);
    this.#lastGroup = group.id;
  }

  /**
   * Returns the operations that lead from a commit to `head`: the last one of each key, in batches of about
   * `postgresLimits.readBytes`. `withDeletions`: also for keys that do not exist.
   */
  async *changesAfter(
    sequence: number,
    { withDeletions }: { readonly withDeletions: boolean },
  ): AsyncGenerator<readonly PlainOperation[], void, void> {
    let isComplete = false;
    try {
      await this.#client.query('BEGIN READ ONLY');
      await this.#client.query(changesCursor, [this.#cell, sequence, withDeletions]);
      yield* this.#fetchChanges();
      await this.#client.query('COMMIT');
      isComplete = true;
    } finally {
      if (!isComplete) this.#lose();
    }
  }

  async *#fetchChanges(): AsyncGenerator<readonly PlainOperation[], void, void> {
    let count = 16;
    for (;;) {
      const fetch = `FETCH ${count} FROM changes`;
      const { rows } = await this.#client.query<{ key: Buffer; value: Buffer | null }>(fetch);
      if (rows.length === 0) return;
      yield rows.map(({ key, value }) =>
        value === null ? { type: 'delete', key } : { type: 'put', key, value },
      );
      let bytes = 1;
      for (const { key, value } of rows) bytes += key.byteLength + (value?.byteLength ?? 0);
      count = Math.ceil((postgresLimits.readBytes * rows.length) / bytes);
    }
  }

  /**
   * Checks that this process still owns the cell. Not during a commit. Errors: `FencedError`; `AppError` unavailable,
   * and the connection is lost.
   */
  async confirm(): Promise<void> {
    const query = {
      text: 'SELECT epoch FROM q_cell WHERE cell = $1',
      values: [this.#cell],
      query_timeout: postgresLimits.checkReplyMs,
    };
    const [row] = await this.#runCheck(query);
    if (row?.epoch !== this.#epoch) throw new FencedError();
  }

  /**
   * Removes rows of deleted keys, of some commits per call and not of the last `keptCommits`. Not during a commit. Errors
   * as of `confirm`.
   */
  async removeDeletions(keptCommits: number): Promise<void> {
    const from = this.#deletionsFrom;
    const to = Math.min(this.#head - keptCommits, from + postgresLimits.removedCommits);
    if (to <= from) return;
    const rows = await this.#runCheck({ text: removeStatement, values: [this.#cell, this.#epoch, from, to] });
    if (rows.length === 0) throw new FencedError();
    this.#deletionsFrom = to;
  }

  /**
   * Returns the number of rows of the commits from `after` (exclusive) to `to`, without those of `exceptKeys`, and four
   * sums that `RowDigest` also computes. Errors: Error if the connection is lost.
   */
  async digestRows(
    { after, to }: { readonly after: number; readonly to: number },
    exceptKeys: readonly Uint8Array[],
  ): Promise<readonly bigint[]> {
    const values = [this.#cell, after, to, exceptKeys.map((key) => Buffer.from(key))];
    const { rows } = await this.#client.query<{ numbers: string[] }>({ text: digestStatement, values });
    return rows[0]!.numbers.map(BigInt);
  }

  /** Deletes the rows of the commits up to `to`, without those of `exceptKeys`. Errors: `FencedError`. */
  async deleteRows(to: number, exceptKeys: readonly Uint8Array[]): Promise<void> {
    const values = [this.#cell, this.#epoch, to, exceptKeys.map((key) => Buffer.from(key))];
    const { rows } = await this.#client.query({ text: deleteStatement, values });
    if (rows.length === 0) throw new FencedError();
  }

  /** Ends the connection. Idempotent. */
  async close(): Promise<void> {
    this.#isLost = true;
    await this.#client.end();
  }

  async #runCommit(values: unknown[]): Promise<readonly { readonly head: string }[]> {
    try {
      const query = { name: 'commit', text: commitStatement, values };
      return (await this.#client.query<{ head: string }>(query)).rows;
    } catch (cause) {
      if (isRolledBack(cause)) throw postgresError('rejected the write', cause);
      this.#lose();
      throw new OutcomeUnknownError('the connection was lost during a commit', { cause });
    }
  }

  async #runCheck(query: pg.QueryConfig): Promise<readonly Partial<CellRow>[]> {
    try {
      return (await this.#client.query<CellRow>(query)).rows;
    } catch (cause) {
      this.#lose();
      throw postgresError('does not reply', cause);
    }
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    // Destroys the socket, if a query is running. It never rejects.
    void this.#client.end();
  }
}

async function isMissing(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ missing: boolean }>("SELECT to_regclass('q_kv') IS NULL AS missing");
  return rows[0]!.missing;
}

function openCell(
  options: CellOptions,
  take: (client: pg.Client) => Promise<pg.QueryResult<CellRow>>,
): Promise<PostgresCell> {
  return connectPostgres(options.url, async (client) => {
    const { rows } = await take(client);
    if (rows[0] === undefined) throw new FencedError();
    return new PostgresCell(client, options.cell, rows[0]);
  });
}

/**
 * Classes and codes of errors that do not show that the transaction was rolled back: a lost connection (08), the end of
 * the server process (57), which can follow a commit, internal errors (58, XX); or that another connection does not have:
 * a standby (25006).
 */
const uncertainErrors = /^(08|57|58|XX|40003|25006)/;

function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !uncertainErrors.test(error.code ?? 'XX');
}

/** One statement can write a key once. */
function lastOfEachKey(operations: readonly PlainOperation[]): readonly PlainOperation[] {
  const last = new Map<string, PlainOperation>();
  for (const operation of operations) last.set(toKeyText(operation.key), operation);
  return last.size === operations.length ? operations : [...last.values()];
}
