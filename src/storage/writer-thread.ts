import { parentPort, workerData } from 'node:worker_threads';
import { assertDefined } from '../core/assert.ts';
import { setNiceness } from '../core/niceness.ts';
import { JournalFile } from './journal-file.ts';
import { attachWriter, diskNiceness } from './rocksdb.ts';
import type { WriterReply, WriterRequest, WriterSettings } from './thread-writer.ts';

// Searches take precedence over disk writes.
setNiceness(diskNiceness);

/**
 * Entry point of the thread that waits for the disk, so that the event loop does not. Started by
 * `thread-writer.ts`.
 */
const port = assertDefined(parentPort, 'the writer runs in a worker thread');
const { handle, sync } = workerData as WriterSettings;
const writer = await attachWriter(handle);
const journal = new JournalFile();

port.on('message', ({ id, group, record }: WriterRequest) => {
  try {
    if (record !== null) journal.append(record, new Uint8Array(group));
    if (sync) writer.writeSynced(group);
    else writer.writeUnsynced(group);
    port.postMessage({ id, error: null } satisfies WriterReply);
  } catch (error) {
    port.postMessage({
      id,
      error: error instanceof Error ? error.message : String(error),
    } satisfies WriterReply);
  }
});
