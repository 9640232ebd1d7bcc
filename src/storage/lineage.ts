import type { Random } from '../core/ids.ts';
import { tables, text } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

const systemTable = new Table<readonly [name: string], string>(tables.system, [text]);
const lineageKey = 'lineage';

/**
 * ID of the history of a data directory. A restored directory gets another one, because its next commits have
 * sequence numbers that the original one uses for other commits.
 */
export async function openLineage(store: Store, random: Random): Promise<string> {
  const known = systemTable.get(store, [lineageKey]);
  if (known !== undefined) return known;
  const lineage = random.uuid();
  await store.write([putLineage(lineage)], { mayUseReserve: true });
  return lineage;
}

export function putLineage(lineage: string): WriteOperation {
  return systemTable.put([lineageKey], lineage);
}
