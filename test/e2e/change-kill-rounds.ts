import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangeReply } from '../http/operations/changes.ts';
import type { Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { EventStreamClient, type ReceivedEvent } from './event-stream.ts';
import type { TestServer } from './server.ts';
import type { Tenant } from './tenant.ts';

const collection_name = 'kept';
const writers = 4;

/**
 * Kills the server again and again while documents are written and two readers follow the feed: each acknowledged
 * change is read, in order and once, and a change is in the feed exactly if its effect is in the data.
 */
export async function checkChangeKillRounds(
  t: Test,
  { server, api, key }: { server: TestServer } & Pick<Tenant, 'api' | 'key'>,
  rounds: number,
): Promise<void> {
  const { cursor } = await api.call('changes/get-changes');
  await createCollection(api, collection_name);
  const acknowledged: string[][] = Array.from({ length: writers }, () => []);
  const polled: ChangeReply[] = [];
  const streamed: ReceivedEvent[] = [];
  let isDone = false;
  const readers = [
    pollChanges(api, cursor, polled, () => isDone),
    follow(server, key, { found: streamed, isDone: () => isDone }),
  ];
  for (let round = 0; round < rounds; round += 1) {
    let isKilled = false;
    const acknowledgedBefore = acknowledged.flat().length;
    const writing = acknowledged.map((paths, writer) =>
      writeUntil(api, `${writer}/${round}`, paths, () => isKilled),
    );
    await waitUntil('a document is acknowledged', () => acknowledged.flat().length > acknowledgedBefore);
    await sleep(Math.random() * 400);
    isKilled = true;
    await server.stop('SIGKILL');
    await Promise.all(writing);
    await server.restart();
  }
  await api.add(collection_name, 'last', 'granite');
  const isLast = ({ type, path }: ChangeReply) => type === 'document.indexed' && path === 'last';
  await waitUntil('the last change is polled', () => polled.some(isLast));
  await waitUntil('the last change is streamed', () =>
    streamed.some(({ data }) => isLast(data as ChangeReply)),
  );
  isDone = true;
  await Promise.all(readers);
  await checkFeed(t, { api, acknowledged, polled, streamed });
}

interface Outcome {
  readonly api: CheckedApiClient;
  readonly acknowledged: readonly (readonly string[])[];
  readonly polled: readonly ChangeReply[];
  readonly streamed: readonly ReceivedEvent[];
}

async function checkFeed(t: Test, { api, acknowledged, polled, streamed }: Outcome): Promise<void> {
  t.comment(`${polled.length} changes, ${acknowledged.flat().length} acknowledged additions`);
  t.ok(acknowledged.flat().length > 0, 'documents were acknowledged');
  t.same(
    polled.map(({ sequence }) => sequence),
    polled.map((_, i) => i + 1),
    'each change is polled once, in order, without gaps',
  );
  // Documents that were waiting are indexed after the last one was added; one reader may have read more of them.
  const both = Math.min(polled.length, sequenceOf(streamed.at(-1)));
  t.same(
    streamed.filter((event) => sequenceOf(event) <= both).map(({ data }) => data),
    polled.slice(sequenceOf(streamed[0]) - 1, both),
    'the stream has the same changes',
  );
  const added = polled.flatMap(({ type, path }) => (type === 'document.added' ? [path!] : []));
  for (const [writer, paths] of acknowledged.entries()) {
    const positions = paths.map((path) => added.indexOf(path));
    t.ok(!positions.includes(-1), `each acknowledged change of writer ${writer} is in the feed`);
    t.same(
      positions,
      positions.toSorted((a, b) => a - b),
      'in the order of the acknowledgments',
    );
  }
  const paths = await listAllPaths(api);
  t.same(added.toSorted(), paths.toSorted(), 'exactly the documents that exist were added');
}

/** Sequence of a streamed change, from 1; 0 for none. */
function sequenceOf(event: ReceivedEvent | undefined): number {
  return (event?.data as ChangeReply | undefined)?.sequence ?? 0;
}

async function listAllPaths(api: CheckedApiClient): Promise<string[]> {
  const paths: string[] = [];
  for (;;) {
    const last = paths.at(-1);
    const page = await api.paths(collection_name, last === undefined ? {} : { path_gt: last });
    if (page.length === 0) return paths;
    paths.push(...page);
  }
}

/** Adds documents one after the other until the server dies. */
async function writeUntil(
  api: CheckedApiClient,
  folder: string,
  acknowledged: string[],
  isKilled: () => boolean,
): Promise<void> {
  for (let i = 0; !isKilled(); i += 1) {
    const path = `${folder}/${i}`;
    const content = { type: 'text', text: `granite ${path}` };
    try {
      await api.call('documents/add-document', { collection_name, path, content });
      acknowledged.push(path);
    } catch (error) {
      if (!isKilled()) throw error;
    }
  }
}

async function pollChanges(
  api: CheckedApiClient,
  start: string,
  found: ChangeReply[],
  isDone: () => boolean,
): Promise<void> {
  for (let after = start; !isDone(); ) {
    try {
      const reply = await api.call('changes/get-changes', { after, limit: 7, wait_seconds: 2 });
      found.push(...reply.changes);
      after = reply.cursor;
    } catch {
      await sleep(20); // the server is down; the numbers, which have no gaps, show that nothing is missed
    }
  }
}

async function follow(
  server: TestServer,
  key: string,
  { found, isDone }: { found: ReceivedEvent[]; isDone: () => boolean },
): Promise<void> {
  let lastEventId = '';
  while (!isDone()) {
    const stream = await EventStreamClient.open(server, key, { lastEventId }).catch(() => null);
    if (stream !== null) {
      let taken = 0;
      await waitUntil('the end of the stream', () => {
        const events = stream.events.slice(taken);
        taken += events.length;
        found.push(...events);
        if (isDone()) stream.close();
        return stream.hasEnded && taken === stream.events.length;
      });
      lastEventId = stream.lastEventId === '' ? lastEventId : stream.lastEventId;
    }
    await sleep(20);
  }
}
