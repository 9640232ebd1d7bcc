import t from 'tap';
import { chunkBuffers } from '../../src/http/chunk-buffers.ts';

const large = 200_000;

function bytesOf(length: number, value: number): ArrayBuffer {
  return new Uint8Array(length).fill(value).buffer;
}

t.test('the buffer of a large chunk is used again after it was given back, and not before', async (t) => {
  const first = chunkBuffers.copyOf(bytesOf(large, 1));
  const second = chunkBuffers.copyOf(bytesOf(large, 2));
  t.not(first.buffer, second.buffer);
  t.ok(first.byteLength === large && first.every((byte) => byte === 1));
  const { buffer } = first;
  chunkBuffers.giveBack([first]);
  chunkBuffers.giveBack([first]);
  const third = chunkBuffers.copyOf(bytesOf(large, 3));
  const fourth = chunkBuffers.copyOf(bytesOf(large, 4));
  t.equal(third.buffer, buffer);
  t.not(fourth.buffer, buffer, 'once, although it was given back twice');
  t.ok(second.every((byte) => byte === 2));
});

t.test('small chunks and those of others are not kept', async (t) => {
  const small = chunkBuffers.copyOf(bytesOf(100, 5));
  t.same([...small], Array(100).fill(5));
  const foreign = new Uint8Array(524_288);
  chunkBuffers.giveBack([small, foreign]);
  t.not(chunkBuffers.copyOf(bytesOf(large, 6)).buffer, foreign.buffer);
});
