import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { createFolder, runForJson, runQuarry, startRestored } from './backup-commands.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, TestServer } from './server.ts';

/** `quarry backup` on the command line, with the server running and stopped. */

t.setTimeout(testFileMsMax);

const pdf = (text: string) =>
  ({ type: 'auto', base64_data: Buffer.from(buildPdf([text])).toString('base64') }) as const;

/** Everything that clients see of a collection. */
async function describe(api: CheckedApiClient, collection: string) {
  const paths = await api.paths(collection);
  const documents = [];
  for (const path of paths) {
    const { id, content, metadata, size, index_status, file_url } = await api.info(collection, path, true);
    const file = await fetch(file_url);
    const bytes = Buffer.from(await file.arrayBuffer()).toString('base64');
    documents.push({ path, id, content, metadata, size, index_status, bytes });
    if (file.status !== 200) throw new Error(`${path}: ${file.status}`);
  }
  const searches = [];
  for (const query of ['granite and marble', 'number seven of the quarry', 'basalt'])
    searches.push(await api.find(collection, query, { k: 20 }));
  return { documents, searches };
}

const name = (number: number) => String(number).padStart(8, '0');
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Adds 60 texts and 5 files. */
async function addStones(api: CheckedApiClient): Promise<void> {
  await api.call('collections/add-collection', { collection_name: 'stones', num_shards: 8 });
  await api.addAll('stones', [
    ...Array.from({ length: 60 }, (_, i) => ({
      path: `notes/${i}.txt`,
      content: {
        type: 'text' as const,
        text: `Granite number ${i} of the quarry. ${'Marble and slate. '.repeat(i)}`,
      },
      metadata: { kind: i % 2 === 0 ? 'even' : 'odd' },
    })),
    ...Array.from({ length: 5 }, (_, i) => ({
      path: `files/${i}.pdf`,
      content: pdf(`Basalt in file ${i}.`),
    })),
  ]);
}

/**
 * One writer of a collection: document n is added, and document n - 10 deleted, so that the state tells how far it
 * came. Every fifth document is a file.
 */
class Writer {
  acknowledged = 0;
  #isRunning = true;
  readonly #ended: Promise<void>;

  constructor(api: CheckedApiClient, collection_name: string) {
    this.#ended = this.#run(api, collection_name);
  }

  async #run(api: CheckedApiClient, collection_name: string): Promise<void> {
    while (this.#isRunning) {
      const number = this.acknowledged + 1;
      const content =
        number % 5 === 0 ? pdf(`Page ${number}.`) : { type: 'text' as const, text: `Entry ${number}.` };
      await api.call('documents/add-document', { collection_name, path: name(number), content });
      if (number > 10)
        await api.call('documents/delete-document', { collection_name, path: name(number - 10) });
      this.acknowledged = number;
    }
  }

  stop(): Promise<void> {
    this.#isRunning = false;
    return this.#ended;
  }
}

const scheduledFolder = createFolder(t);
const scheduledTarget = join(scheduledFolder, 'target');
const server = await TestServer.start(t, {
  BACKUP_TARGET: scheduledTarget,
  BACKUP_SCHEDULE: '1m',
  BACKUP_KEEP: 'last:1',
});
const api = new CheckedApiClient(server);
await addStones(api);

async function readStatus() {
  const response = await fetch(`${server.url}/v1/admin/get-backup-status`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
  });
  return (await response.json()) as { last_backup: { id: string } | null; next_at: string | null };
}

await t.test(
  'wrong targets are rejected, and another target needs access to the data directory',
  async (t) => {
    const folder = createFolder(t);
    const create = (target: string, data: string) =>
      runQuarry(['backup', 'create', '--target', target, '--data', data, '--url', server.url]);
    t.match(await create(join(folder, 't'), join(folder, 'none')), {
      code: 1,
      errors: /requires access to the data/,
    });
    t.match(await create(join(server.data, 't'), server.data), {
      code: 2,
      errors: /inside the data directory/,
    });
    t.match(await create('ftp://host/x', server.data), { code: 2, errors: /is not supported/ });
    t.match(await runQuarry(['backup', 'create', '--data', server.data]), {
      code: 2,
      errors: /No backup target/,
    });
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    const restored = await runQuarry(['backup', 'restore', '--target', empty, '--data', join(folder, 'new')]);
    t.match(restored, { code: 1, errors: /contains no backup/ });
    t.equal(existsSync(join(folder, 'new')), false);
    rmSync(empty, { recursive: true });
    const words = ['backup', 'prune', '--target', empty];
    t.match(await runQuarry(words), { code: 2, errors: /Set --keep/ });
    t.match(await runQuarry([...words, '--keep', 'all']), { code: 2, errors: /is not a valid rule/ });
  },
);

await t.test('a backup of a running server restores all documents, files and search results', async (t) => {
  const folder = createFolder(t);
  const target = join(folder, 'target');
  const expected = await describe(api, 'stones');
  const words = ['backup', 'create', '--target', target, '--data', server.data, '--url', server.url];
  const created = await runForJson(words);
  t.match(created, { files: 5, has_secrets: false });
  const listed = await runForJson(['backup', 'list', '--target', target]);
  t.same(listed.backups, [created]);
  t.match(listed.recoverable, [{ from_sequence: created.sequence, to_sequence: created.sequence }]);
  t.match(await runForJson(['backup', 'verify', '--target', target]), { backups: 1, problems: [] });

  await api.call('collections/add-collection', { collection_name: 'log' });
  const writer = new Writer(api, 'log');
  await waitUntil('some documents', () => writer.acknowledged >= 20);
  const before = writer.acknowledged;
  const underWrites = await runForJson(words);
  const after = writer.acknowledged;
  await writer.stop();
  const path = join(folder, 'restored');
  const report = await runForJson(['backup', 'restore', '--target', target, '--data', path]);
  t.match(report, { backup: underWrites.id, collections: 2 });
  t.ok(report.searches > 0);
  const restored = new CheckedApiClient(await startRestored(t, path));
  t.same(await describe(restored, 'stones'), expected);
  const again = await runQuarry(['backup', 'restore', '--target', target, '--data', path]);
  t.match(again, { code: 1, errors: /is not empty/ });

  await t.test('a backup under writes is the state after one of them', async (t) => {
    const paths = await restored.paths('log');
    t.equal(paths.length + 65, report.documents);
    const numbers = paths.map((each) => Number(each));
    const last = numbers.at(-1) ?? 0;
    t.ok(last >= before && last <= after + 1, `${before} <= ${last} <= ${after + 1}`);
    t.same(numbers, range(numbers[0] ?? 0, last), 'without gaps');
    t.ok(numbers.length === 10 || numbers.length === 11, 'between an addition and its deletion at most');
    const files = numbers.filter((number) => number % 5 === 0).length;
    // Also files of deleted documents that are not removed yet.
    t.ok(report.files >= 5 + files);
  });
});

await t.test('scheduled backups run, are pruned, and appear in the status', async (t) => {
  const everyMs = 500;
  await waitUntil('the first backup', async () => (await readStatus()).last_backup !== null, everyMs);
  t.ok(Date.parse((await readStatus()).next_at ?? '') > Date.now() - 60_000);
  await waitUntil(
    'the last backup is the only one of the target',
    async () => {
      const { last_backup } = await readStatus();
      const { backups } = await runForJson(['backup', 'list', '--target', scheduledTarget]);
      return backups.length === 1 && backups[0].id === last_backup?.id;
    },
    everyMs,
  );
  const restored = join(scheduledFolder, 'restored');
  await runForJson(['backup', 'restore', '--target', scheduledTarget, '--data', restored]);
  const detail = async () => {
    const { components } = (await (await fetch(`${server.url}/readyz`)).json()) as {
      components: { backups: { ready: boolean; detail: string } };
    };
    return components.backups;
  };
  await waitUntil(
    'the verified restore',
    async () => !(await detail()).detail.includes('no verified restore'),
    everyMs,
  );
  t.match(await detail(), { ready: true, detail: /^last backup \d{4}.*; last verified restore \d{4}/ });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.match(metrics, /^quarry_backup_last_timestamp_seconds [1-9]/m);
  t.match(metrics, /^quarry_backup_failures 0$/m);
});

await t.test(
  'a stopped server is backed up from its data directory, with its secrets if requested',
  async (t) => {
    const folder = createFolder(t);
    const target = join(folder, 'target');
    const { file_url } = await api.info('stones', 'files/0.pdf');
    await server.stop();
    const words = ['backup', 'create', '--target', target, '--data', server.data];
    const created = await runForJson(words, { BACKUP_SECRETS: 'always' });
    t.equal(created.has_secrets, true);
    const data = join(folder, 'stopped');
    await runForJson(['backup', 'restore', '--target', target, '--data', data]);
    const address = new URL(file_url);
    const same = await startRestored(t, data);
    const file = await fetch(`${same.url}${address.pathname}${address.search}`);
    t.equal(file.status, 200, 'file URLs stay valid');
    await server.restart();
    await waitUntil(
      'the last scheduled backup after a restart',
      async () => (await readStatus()).last_backup !== null,
    );
  },
);
