import { MessageReader } from '../../bench/harness/message-reader.ts';
import t from '../support/tap.ts';

function read(pieces: readonly string[]): string[] {
  const messages: string[] = [];
  const reader = new MessageReader(
    ({ startLine, body }) => void messages.push(`${startLine}|${body.toString()}`),
  );
  for (const piece of pieces) reader.push(Buffer.from(piece));
  return messages;
}

t.test('replies are complete regardless of how the network splits them', async (t) => {
  const bytes =
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx: y\r\n\r\nhello' +
    'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n' +
    'HTTP/1.1 429 Too Many Requests\r\ncontent-length:2\r\n\r\nno';
  const expected = ['HTTP/1.1 200 OK|hello', 'HTTP/1.1 204 No Content|', 'HTTP/1.1 429 Too Many Requests|no'];
  t.same(read([bytes]), expected);
  for (let cut = 1; cut < bytes.length; cut++) {
    t.same(read([bytes.slice(0, cut), bytes.slice(cut)]), expected, `split at ${cut}`);
  }
  t.same(read([...bytes]), expected, 'byte by byte');
});

t.test('an unsupported reply is rejected, not misread', async (t) => {
  t.throws(() => read(['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n']), /chunked/);
  t.throws(() => read(['HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n']), /over the limit/);
});
