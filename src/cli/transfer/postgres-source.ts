import pg from 'pg';
import { AppError } from '../../core/app-error.ts';
import { isObject } from '../../core/is-object.ts';
import type { ImportSource } from './import-source.ts';
import { openPoints, type PointSourceOptions, type SourcePoint } from './point-sources.ts';
import { type ImportRow, readText } from './row-fields.ts';

/** Bounds the memory: a vector of 4,096 dimensions is a text of 40 kB. */
const rowsPerFetch = 256;
/** Columns that libraries use. */
const vectorColumns = ['vector', 'embedding'];
const metadataColumns = ['metadata', 'cmetadata', 'metadata_'];

/**
 * The rows of a table of PostgreSQL with pgvector, as of one point in time. `collection` is the name of the table, with
 * or without its schema.
 */
export async function openPostgresSource(options: PointSourceOptions): Promise<ImportSource> {
  const table = options.collection.split('.').map(pg.escapeIdentifier).join('.');
  const total = await withClient(options, async (client) => {
    const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count FROM ${table}`);
    return Number(rows[0]!.count);
  });
  return await openPoints(options, total, () => readTable(options, table));
}

async function* readTable(
  options: PointSourceOptions,
  table: string,
): AsyncGenerator<SourcePoint, void, void> {
  const client = await connect(options);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(`DECLARE points NO SCROLL CURSOR FOR SELECT * FROM ${table}`);
    for (;;) {
      const { rows } = await client.query<ImportRow>(`FETCH ${rowsPerFetch} FROM points`);
      for (const row of rows) yield toPoint(row, options);
      if (rows.length < rowsPerFetch) return;
    }
  } catch (cause) {
    throw postgresError(cause);
  } finally {
    await client.end();
  }
}

function toPoint(row: ImportRow, { mapping }: PointSourceOptions): SourcePoint {
  const idColumn = mapping.id ?? 'id';
  const id = readText(row, idColumn, {});
  if (id === undefined)
    throw new AppError(
      'bad_request',
      `A row has no value in the column ${JSON.stringify(idColumn)}. Name another one with --mapping, such as {"id": "uuid"}.`,
    );
  const vectorColumn = mapping.vector ?? vectorColumns.find((name) => Object.hasOwn(row, name));
  const metadataColumn = metadataColumns.find((name) => isObject(row[name]));
  const left = [idColumn, vectorColumn, mapping.metadata === undefined ? metadataColumn : undefined];
  const rest = Object.entries(row).filter(([name]) => !left.includes(name));
  const metadata = metadataColumn === undefined ? {} : (row[metadataColumn] as ImportRow);
  return {
    id,
    vector: vectorColumn === undefined ? undefined : parseVector(row[vectorColumn]),
    text: undefined,
    fields: { ...metadata, ...Object.fromEntries(rest) },
  };
}

/** A vector of pgvector arrives as the text `[1,2,3]`; an array of numbers as an array. */
function parseVector(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('[') ? JSON.parse(value) : value;
}

async function withClient<Result>(
  options: PointSourceOptions,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(options);
  try {
    return await work(client);
  } catch (cause) {
    throw postgresError(cause);
  } finally {
    await client.end();
  }
}

async function connect({ url }: PointSourceOptions): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    return client;
  } catch (cause) {
    throw postgresError(cause);
  }
}

function postgresError(cause: unknown): unknown {
  if (cause instanceof AppError) return cause;
  return new AppError('bad_gateway', `PostgreSQL: ${(cause as Error).message}`, { cause });
}
