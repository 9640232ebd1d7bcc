import { createServer } from 'node:net';
import { MessageReader } from './message-reader.ts';

/**
 * Minimal HTTP server: a process that replies to every request with the same bytes. The throughput of the
 * load generator against it is the generator's own ceiling. Argument: bytes of the reply body. Exits when its
 * standard input ends, so that it does not outlive the bench.
 */
const bodyBytes = Number(process.argv[2]);
const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`;
const reply = Buffer.from(head + 'x'.repeat(bodyBytes));

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader(() => void socket.write(reply));
  socket.on('data', (piece) => reader.push(piece));
  // A client that disconnects during a request only ends its connection.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`listening on ${address.port}\n`);
});
process.stdin.resume().once('end', () => process.exit(0));
