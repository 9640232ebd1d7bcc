import { type ChatEvent, readChatEvents } from '../../src/models/chat-events.ts';
import { ThoughtFilter } from '../../src/models/thought-filter.ts';
import t from '../support/tap.ts';

async function read(text: string, pieceBytes = 5): Promise<ChatEvent[]> {
  const bytes = Buffer.from(text);
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  const events: ChatEvent[] = [];
  for await (const event of readChatEvents(pieces())) events.push(event);
  return events;
}

const delta = (content: string) => `data: {"choices": [{"delta": {"content": ${JSON.stringify(content)}}}]}`;

t.test('events are read with any line ends, comments and pieces', async (t) => {
  for (const end of ['\n', '\r\n'])
    for (const bytes of [1, 3, 1_000]) {
      const lines = [
        ': a comment',
        '',
        delta('Été '),
        '',
        `event: x`,
        delta('🌋'),
        '',
        'data:[DONE]',
        '',
        'data: x',
        '',
      ];
      const events = await read(lines.join(end), bytes);
      t.same(
        events.map(({ text }) => text),
        ['Été ', '🌋'],
      );
    }
});

t.test('usage and the reason of the end are read, and reasoning is not part of the text', async (t) => {
  const events = await read(
    [
      'data: {"choices": [{"delta": {"role": "assistant", "content": null, "reasoning_content": "Hm."}}]}',
      'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}',
      'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}',
      'data: {"choices": [], "usage": {"prompt_tokens": -3, "completion_tokens": "many"}}',
    ].join('\n\n'),
  );
  t.same(events, [
    { text: '', finishReason: null, usage: null },
    { text: '', finishReason: 'length', usage: null },
    { text: '', finishReason: null, usage: { promptTokens: 3, completionTokens: 2 } },
    { text: '', finishReason: null, usage: null },
  ]);
});

t.test('a stream that is malformed, incomplete or an error is rejected without its text', async (t) => {
  for (const [text, message] of [
    ['', /ended before/],
    [delta('secret'), /ended before/],
    ['data: secret\n\n', /not JSON/],
    ['data: "secret"\n\n', /not an object/],
    ['data: null\n\n', /not an object/],
    ['data: {"choices": "secret"}\n\n', /no list of choices/],
    ['data: {"choices": [{"delta": {"content": 1}}]}\n\n', /not a string/],
    ['data: {"error": {"message": "secret"}}\n\n', /reported an error/],
  ] as const) {
    await t.rejects(read(text), { name: 'ProviderError', kind: 'failed', message });
    await t.rejects(read(text), { message: /^((?!secret).)*$/ });
  }
});

t.test('reasoning before the answer is removed', async (t) => {
  for (const [text, expected] of [
    ['<think>No [1].</think>\n\nYes.', '\n\nYes.'],
    ['\n<think>No.</think>Yes <think>stays</think>.', 'Yes <think>stays</think>.'],
    ['<think>never ends', ''],
    ['<thin is text', '<thin is text'],
    ['<', '<'],
    ['Yes.', 'Yes.'],
    ['', ''],
  ] as const)
    for (const units of [1, 2, 5, 100]) {
      const filter = new ThoughtFilter();
      let found = '';
      for (let at = 0; at < text.length; at += units) found += filter.push(text.slice(at, at + units));
      t.equal(found + filter.finish(), expected, `${text} in pieces of ${units}`);
    }
});
