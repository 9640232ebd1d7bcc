import { createServer } from 'node:net';
import { MessageReader } from './message-reader.ts';

/**
 * The cheapest server there can be in this language: a process that answers every request with the same bytes. What
 * the load generator reaches against it is the generator's own ceiling. Argument: bytes of the reply's body. It ends
 * when its standard input does, so it cannot outlive the bench.
 */
const bodyBytes = Number(process.argv[2]);
const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`;
const reply = Buffer.from(head + 'x'.repeat(bodyBytes));

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader(() => void socket.write(reply));
  socket.on('data', (piece) => reader.push(piece));
  // A client that goes away mid-request is the end of its connection and nothing else.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`listening on ${address.port}\n`);
});
process.stdin.resume().once('end', () => process.exit(0));
