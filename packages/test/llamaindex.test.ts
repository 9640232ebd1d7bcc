import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MockLLM } from '@llamaindex/core/llms/mock';
import { RetrieverQueryEngine } from '@llamaindex/core/query-engine';
import { getResponseSynthesizer } from '@llamaindex/core/response-synthesizers';
import { MetadataMode, TextNode } from '@llamaindex/core/schema';
import { QuarryApiError } from '@quarry/client';
import { QuarryRetriever } from '@quarry/llamaindex';
import { addHandbook, refunds } from './handbook.js';

const collectionName = 'llamaindex';
const client = await addHandbook(collectionName);
const question = 'how long do refunds take';

test('nodes have the text, the score and the metadata; the model reads no positions', async () => {
  const [first] = await new QuarryRetriever({ client, collectionName }).retrieve(question);
  assert.ok(first?.node instanceof TextNode);
  assert.equal(first.node.text, refunds);
  assert.ok(first.score !== undefined && first.score > 0 && first.score <= 1);
  assert.deepEqual(first.node.metadata, {
    author: 'Ada',
    year: 2026,
    source: 'refunds.txt',
    collection_name: collectionName,
    page_span: [0, 1],
    start_index: 0,
    end_index: refunds.length,
  });
  assert.equal(
    first.node.getContent(MetadataMode.LLM),
    `author: Ada\nsource: refunds.txt\nyear: 2026\n\n${refunds}`,
  );
});

test('similarityTopK, filter and content of several parts apply', async () => {
  const one = await new QuarryRetriever({ client, collectionName, similarityTopK: 1 }).retrieve(question);
  assert.equal(one.length, 1);
  const older = new QuarryRetriever({ client, collectionName, filter: { author: 'Grace' } });
  const nodes = await older.retrieve({ query: [{ type: 'text', text: question }] });
  assert.deepEqual([...new Set(nodes.map(({ node }) => node.metadata.author))], ['Grace']);
});

/** Answers with its prompt. */
class EchoModel extends MockLLM {
  override async complete({ prompt }: { prompt: unknown }): Promise<never> {
    return { raw: null, text: JSON.stringify(prompt) } as never;
  }

  override async chat({ messages }: { messages: unknown }): Promise<never> {
    return { raw: null, message: { role: 'assistant', content: JSON.stringify(messages) } } as never;
  }
}

test('a query engine gives the nodes to the model, and errors to the caller', async () => {
  const synthesizer = getResponseSynthesizer('compact', { llm: new EchoModel() });
  const retriever = new QuarryRetriever({ client, collectionName, similarityTopK: 1 });
  const answer = await new RetrieverQueryEngine(retriever, synthesizer).query({ query: question });
  assert.match(String(answer.message.content), new RegExp(refunds));
  assert.equal(answer.sourceNodes?.[0]?.node.metadata.source, 'refunds.txt');
  const missing = new QuarryRetriever({ client, collectionName: 'missing' });
  await assert.rejects(
    missing.retrieve(question),
    (error) => error instanceof QuarryApiError && error.status === 404,
  );
});
