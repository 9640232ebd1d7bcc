import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Document } from '@langchain/core/documents';
import { RunnableLambda } from '@langchain/core/runnables';
import { QuarryApiError } from '@quarry/client';
import { QuarryRetriever } from '@quarry/langchain';
import { addHandbook, refunds } from './handbook.js';

const collectionName = 'langchain';
const client = await addHandbook(collectionName);
const question = 'how long do refunds take';

test('documents have the text, the metadata of the document, and the position', async () => {
  const retriever = new QuarryRetriever({ client, collectionName });
  const [first, ...others] = await retriever.invoke(question);
  assert.ok(first instanceof Document);
  assert.equal(first.pageContent, refunds);
  assert.equal(first.id, `langchain/refunds.txt#0-${refunds.length}`);
  const { score, ...metadata } = first.metadata;
  assert.ok(score > 0 && score <= 1);
  assert.deepEqual(metadata, {
    author: 'Ada',
    year: 2026,
    source: 'refunds.txt',
    collection_name: collectionName,
    page_span: [0, 1],
    start_index: 0,
    end_index: refunds.length,
  });
  assert.ok(others.every((document) => document.metadata.score <= score));
});

test('k, filter and other options of queries apply', async () => {
  const one = new QuarryRetriever({ client, collectionName, k: 1 });
  assert.equal((await one.invoke(question)).length, 1);
  const filter = { year: { $lt: 2026 } };
  const older = await new QuarryRetriever({ client, collectionName, filter }).invoke(question);
  assert.deepEqual([...new Set(older.map(({ metadata }) => metadata.author))], ['Grace']);
  const options = { min_score: 1.1 };
  await assert.rejects(
    new QuarryRetriever({ client, collectionName, options }).invoke(question),
    /min_score/,
  );
});

test('the retriever is a runnable: batches, chains, callbacks, and errors', async () => {
  const ended: string[] = [];
  const retriever = new QuarryRetriever({
    client,
    collectionName,
    k: 1,
    callbacks: [{ handleRetrieverEnd: (documents) => void ended.push(documents[0]?.metadata.source) }],
  });
  const chain = retriever.pipe(
    RunnableLambda.from((documents: Document[]) =>
      documents.map(({ pageContent }) => pageContent).join('\n'),
    ),
  );
  assert.deepEqual(await chain.batch([question, 'free days']), [
    refunds,
    'Every employee has thirty days of paid holiday.',
  ]);
  assert.deepEqual(ended.sort(), ['holidays.txt', 'refunds.txt']);
  const missing = new QuarryRetriever({ client, collectionName: 'missing' });
  await assert.rejects(
    missing.invoke(question),
    (error) => error instanceof QuarryApiError && error.status === 404,
  );
});
