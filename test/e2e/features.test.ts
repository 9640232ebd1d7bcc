import { readFileSync } from 'node:fs';
import { codeBlocks } from '../docs/code-blocks.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinChatServer } from './chat-server.ts';

/** Sends the requests of docs/reference/features.md. */

t.setTimeout(testFileMsMax);

interface FeatureRow {
  readonly feature: string;
  readonly operation: string;
  readonly request: object;
  /** Path to the part of the reply that shows the feature: `results.0.path`. */
  readonly part: string;
}

const page = readFileSync(new URL('../../../docs/reference/features.md', import.meta.url), 'utf8');

function readRows(): FeatureRow[] {
  const rows = page.matchAll(/^\| ([^|`]+) \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| \[.+\)( \|)$/gm);
  return [...rows].map(([, feature = '', operation = '', request = '', part = '']) => ({
    feature,
    operation,
    request: JSON.parse(request),
    part,
  }));
}

function readPart(reply: unknown, part: string): unknown {
  return part.split('.').reduce<unknown>((value, name) => Object(value)[name], reply);
}

t.test('each feature is shown by its request', async (t) => {
  const { api } = await joinChatServer();
  const [setup] = codeBlocks(page);
  const { documents } = JSON.parse(setup!.text);
  for (const collection of ['reports', 'archive']) {
    await api.call('collections/add-collection', { collection_name: collection });
    await api.addAll(collection, documents);
  }
  const rows = readRows();
  t.equal(rows.length, page.match(/^\| .*`\{.*$/gm)?.length, 'every row is read');
  t.ok(rows.length > 25);
  for (const { feature, operation, request, part } of rows) {
    const headers = { 'content-type': 'application/json' };
    const reply = await (await api.send(operation, { headers, body: JSON.stringify(request) })).json();
    const value = readPart(reply, part);
    t.ok(
      value !== undefined && value !== null,
      `${feature}: ${part} of ${JSON.stringify(reply).slice(0, 300)}`,
    );
  }
});
