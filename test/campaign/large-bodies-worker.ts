import { connect } from 'node:net';
import { workerData } from 'node:worker_threads';
import { setNiceness } from '../../src/core/niceness.ts';

/** Connections that repeatedly send bodies of many empty objects until the thread is terminated. */

export interface LargeBodiesTask {
  readonly port: number;
  readonly key: string;
  readonly connections: number;
}

const objects = 1_900_000;
const { port, key, connections } = workerData as LargeBodiesTask;
const document = '"collection_name":"notes","path":"a.txt","content":{"type":"text","text":"x"},"wait":true';
const body = Buffer.from(`{${document},"x":[{}${',{}'.repeat(objects - 1)}]}`);
const head = [
  'POST /v1/documents/add-document HTTP/1.1',
  `host: 127.0.0.1:${port}`,
  `authorization: Bearer ${key}`,
  'content-type: application/json',
  `content-length: ${body.length}\r\n\r\n`,
].join('\r\n');

function send(): void {
  const socket = connect({ host: '127.0.0.1', port });
  socket.write(head);
  socket.write(body);
  socket.once('data', () => socket.destroy());
  // The server closes connections whose body it rejects; a `close` event follows.
  socket.on('error', () => {});
  socket.on('close', () => setImmediate(send));
}

setNiceness(10);
for (let i = 0; i < connections; i += 1) send();
