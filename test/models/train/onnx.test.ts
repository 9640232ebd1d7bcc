import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeModel, toBytes } from '../../../models/train/onnx.ts';
import { OnnxSession } from '../../../src/models/onnx-session.ts';
import t from '../../support/tap.ts';

const graph = {
  name: 'test',
  documentation: 'y = x . w + bias, w in a file beside the model',
  constants: [
    { name: 'w', type: 'float', shape: [2, 3], data: { file: 'w.bin', bytes: 24 } },
    { name: 'bias', type: 'float', shape: [3], data: toBytes(Float32Array.of(0.5, -0.5, 0)) },
  ],
  inputs: [{ name: 'x', type: 'float', shape: ['rows', 2] }],
  outputs: [{ name: 'y', type: 'float', shape: ['rows', 3] }],
  nodes: [
    { operator: 'MatMul', inputs: ['x', 'w'], outputs: ['product'] },
    { operator: 'Add', inputs: ['product', 'bias'], outputs: ['y'] },
  ],
} as const;

t.test('a written model computes its graph, with its data inside and beside the file', async (t) => {
  const folder = t.testdir();
  await writeFile(join(folder, 'model.onnx'), encodeModel(graph));
  await writeFile(join(folder, 'w.bin'), toBytes(Float32Array.of(1, 2, 3, 4, 5, 6)));
  const session = await OnnxSession.open(join(folder, 'model.onnx'));
  const y = await session.run({ x: { data: Float32Array.of(1, 0, 0, 1, 1, 1), shape: [3, 2] } }, 'y');
  t.same(y, Float32Array.of(1.5, 1.5, 3, 4.5, 4.5, 6, 5.5, 6.5, 9));
  await session.close();
});

t.test('a model that is missing, broken or without its data does not open', async (t) => {
  const folder = t.testdir({ 'broken.onnx': 'not a model' });
  await t.rejects(OnnxSession.open(join(folder, 'missing.onnx')));
  await t.rejects(OnnxSession.open(join(folder, 'broken.onnx')));
  await writeFile(join(folder, 'alone.onnx'), encodeModel(graph));
  await t.rejects(OnnxSession.open(join(folder, 'alone.onnx')));
});
