import { chunkBuffers } from '../../src/http/chunk-buffers.ts';
import t from '../support/tap.ts';

const large = 200_000;

function bytesOf(length: number, value: number): ArrayBuffer {
  return new Uint8Array(length).fill(value).buffer;
}

t.test('the buffer of a large chunk is reused only after its release', async (t) => {
  const first = chunkBuffers.copy(bytesOf(large, 1));
  const second = chunkBuffers.copy(bytesOf(large, 2));
  t.not(first.buffer, second.buffer);
  t.ok(first.byteLength === large && first.every((byte) => byte === 1));
  const { buffer } = first;
  chunkBuffers.release([first]);
  chunkBuffers.release([first]);
  const third = chunkBuffers.copy(bytesOf(large, 3));
  const fourth = chunkBuffers.copy(bytesOf(large, 4));
  t.equal(third.buffer, buffer);
  t.not(fourth.buffer, buffer, 'reused once although it was released twice');
  t.ok(second.every((byte) => byte === 2));
});

t.test('small and foreign chunks are not pooled', async (t) => {
  const small = chunkBuffers.copy(bytesOf(100, 5));
  t.same([...small], Array(100).fill(5));
  const foreign = new Uint8Array(524_288);
  chunkBuffers.release([small, foreign]);
  t.not(chunkBuffers.copy(bytesOf(large, 6)).buffer, foreign.buffer);
});
