import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock';
import { noopObserve } from '@mastra/core/tools';
import { createQuarryQueryTool } from '@quarry/mastra';
import { addHandbook, refunds } from './handbook.js';

const collectionName = 'mastra';
const client = await addHandbook(collectionName);
const question = 'how long do refunds take';

const context = { observe: noopObserve };
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** A model that calls the tool with `input`, then answers with the prompt that it got. */
function modelThatCalls(toolName: string, input: object): MastraLanguageModelV2Mock {
  let calls = 0;
  return new MastraLanguageModelV2Mock({
    doGenerate: async ({ prompt }) => {
      calls += 1;
      return {
        content:
          calls === 1
            ? [{ type: 'tool-call', toolCallId: '1', toolName, input: JSON.stringify(input) }]
            : [{ type: 'text', text: JSON.stringify(prompt) }],
        finishReason: calls === 1 ? 'tool-calls' : 'stop',
        usage,
        warnings: [],
      };
    },
  });
}

test('an agent calls the tool and reads its results', async () => {
  const tool = createQuarryQueryTool({ client, collectionName, description: 'Searches the handbook.' });
  assert.equal(tool.id, 'quarry-mastra-query');
  const agent = new Agent({
    id: 'support',
    name: 'support',
    instructions: 'Answer from the handbook.',
    // The types of the mock do not fit exactOptionalPropertyTypes.
    model: modelThatCalls('handbook', { queryText: question, topK: 1 }) as never,
    tools: { handbook: tool },
  });
  const { text, toolResults } = await agent.generate('When do I get my money back?');
  assert.match(text, new RegExp(refunds));
  assert.equal(toolResults.length, 1);
});

test('results have the shape of the vector query tool of Mastra', async () => {
  const tool = createQuarryQueryTool({ client, collectionName, topK: 1 });
  const output = await tool.execute?.({ queryText: question }, context);
  assert.ok(output !== undefined && 'sources' in output);
  const [source] = output.sources;
  assert.ok(source !== undefined && source.score > 0);
  assert.equal(source.document, refunds);
  assert.deepEqual(source.metadata, {
    author: 'Ada',
    year: 2026,
    source: 'refunds.txt',
    page_span: [0, 1],
    start_index: 0,
    end_index: refunds.length,
    text: refunds,
  });
  assert.deepEqual(output.relevantContext, [source.metadata]);
});

test('a filter of the agent narrows the fixed filter and cannot replace it', async () => {
  const authorsOf = async (enableFilter: boolean, filter: Record<string, unknown>) => {
    const tool = createQuarryQueryTool({
      client,
      collectionName,
      filter: { author: 'Grace' },
      enableFilter,
    });
    const output = await tool.execute?.({ queryText: question, filter }, context);
    assert.ok(output !== undefined);
    return 'sources' in output ? output.sources.map(({ metadata }) => metadata.source).sort() : output;
  };
  assert.deepEqual(await authorsOf(true, { year: 2025 }), ['holidays.txt']);
  assert.deepEqual(await authorsOf(true, { author: 'Ada' }), []);
});

test('invalid input is not sent, and errors of the server reach the caller', async () => {
  const tool = createQuarryQueryTool({ client, collectionName });
  const output = await tool.execute?.({ topK: 1 } as never, context);
  assert.match(JSON.stringify(output), /queryText/);
  const missing = createQuarryQueryTool({ client, collectionName: 'missing' });
  await assert.rejects(async () => missing.execute?.({ queryText: question }, context), /does not exist/);
});
