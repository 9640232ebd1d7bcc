import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSearchTool } from '@quarry/ai-sdk';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { addHandbook, refunds } from './handbook.js';

const collectionName = 'ai-sdk';
const client = await addHandbook(collectionName);
const question = 'how long do refunds take';

type ModelReply = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
} as ModelReply['usage'];

/** A model that calls the tool with `input`, then answers. */
function modelThatCalls(input: object): MockLanguageModelV4 {
  const call: ModelReply = {
    content: [{ type: 'tool-call', toolCallId: '1', toolName: 'search', input: JSON.stringify(input) }],
    finishReason: { unified: 'tool-calls', raw: undefined },
    usage,
    warnings: [],
  };
  const answer: ModelReply = {
    content: [{ type: 'text', text: 'In fourteen days.' }],
    finishReason: { unified: 'stop', raw: undefined },
    usage,
    warnings: [],
  };
  return new MockLanguageModelV4({ doGenerate: [call, answer] });
}

test('a model finds the tool, calls it and reads its results', async () => {
  const model = modelThatCalls({ query: question });
  const search = createSearchTool({ client, collectionName, k: 1, description: 'Searches the handbook.' });
  const { text } = await generateText({
    model,
    tools: { search },
    stopWhen: isStepCount(2),
    prompt: 'When do I get my money back?',
  });
  assert.equal(text, 'In fourteen days.');
  const [first, second] = model.doGenerateCalls;
  const [described] = first?.tools ?? [];
  assert.ok(described?.type === 'function');
  assert.equal(described.description, 'Searches the handbook.');
  assert.deepEqual(Object.keys(described.inputSchema.properties ?? {}), ['query']);
  const [part] = second?.prompt.at(-1)?.content ?? [];
  assert.ok(typeof part === 'object' && part.type === 'tool-result' && part.output.type === 'json');
  const [result, ...others] = part.output.value as { path: string; content: string; score: number }[];
  const { score, ...fields } = result ?? { score: 0 };
  assert.ok(score > 0);
  assert.deepEqual(fields, {
    path: 'refunds.txt',
    content: refunds,
    page_span: [0, 1],
    metadata: { author: 'Ada', year: 2026 },
  });
  assert.equal(others.length, 0);
});

test('the filter applies whatever the model asks for', async () => {
  const search = createSearchTool({ client, collectionName, filter: { author: 'Grace' } });
  const { steps } = await generateText({
    model: modelThatCalls({ query: question }),
    tools: { search },
    stopWhen: isStepCount(2),
    prompt: 'When?',
  });
  const authors = steps[0]?.toolResults.flatMap((result) =>
    result.dynamic === true ? [] : result.output.map(({ metadata }) => metadata.author),
  );
  assert.deepEqual([...new Set(authors)], ['Grace']);
});

test('errors of the server become tool errors, and an aborted generation stops the search', async () => {
  const search = createSearchTool({ client, collectionName: 'missing' });
  const { steps } = await generateText({
    model: modelThatCalls({ query: question }),
    tools: { search },
    stopWhen: isStepCount(2),
    prompt: 'When?',
  });
  const [error] = steps[0]?.content.filter(({ type }) => type === 'tool-error') ?? [];
  assert.ok(error?.type === 'tool-error');
  assert.match(String(error.error), /The collection "missing" does not exist/);
  const reason = new Error('closed');
  const options = { toolCallId: '1', messages: [], abortSignal: AbortSignal.abort(reason), context: {} };
  await assert.rejects(async () => search.execute?.({ query: question }, options), reason);
});
