import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { MessageReader } from '../../bench/harness/message-reader.ts';

/** HTTP server that rejects every request at once. Posts its port when it listens; runs until it is terminated. */

const reply = 'HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n';

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader(() => socket.write(reply));
  socket.on('data', (piece) => reader.push(piece));
  // A client that disconnects only ends its connection.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  parentPort?.postMessage(address.port);
});
