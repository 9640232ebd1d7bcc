import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { ClusteredVectors, difficulties } from '../../bench/vectors/clustered-vectors.ts';
import { exactSearch } from '../../bench/vectors/exact-search.ts';
import { filters, makeTags } from '../../bench/vectors/tags.ts';
import { openVectorFile, writeVectorFile } from '../../bench/vectors/vector-file.ts';

const size = { rows: 500, dimensions: 24 };
const made = (seed: number, difficulty: 'easy' | 'hard' = 'easy') =>
  new ClusteredVectors({ ...size, seed, difficulty });
const joined = (vectors: ClusteredVectors, block: number) =>
  Float32Array.from([...vectors.rows(block)].flatMap((part) => [...part]));

/** Byte for byte; the comparison of tap takes minutes for so many numbers. */
const equal = (a: Float32Array, b: Float32Array) =>
  a.length === b.length && a.every((value, i) => Object.is(value, b[i]));

t.test('generated vectors have length 1, lie in clusters and follow from the seed', async (t) => {
  for (const difficulty of difficulties) {
    const all = joined(made(1, difficulty), 100);
    t.equal(all.length, size.rows * size.dimensions);
    t.ok(equal(joined(made(1, difficulty), 7), all), 'whatever the size of the blocks');
    t.notOk(equal(joined(made(2, difficulty), 100), all));
    const row = (i: number) => all.subarray(i * size.dimensions, (i + 1) * size.dimensions);
    const product = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
    for (const i of [0, 17, 499]) t.ok(Math.abs(product(row(i), row(i)) - 1) < 1e-5);
    const others = Array.from({ length: size.rows - 1 }, (_, i) => product(row(0), row(i + 1))).sort(
      (a, b) => b - a,
    );
    t.ok(others[5]! > others[250]! + 0.3, 'some are near, most are far');
    const question = made(1, difficulty).questions(3);
    const known = Array.from({ length: size.rows }, (_, i) => equal(row(i), question.subarray(0, 24)));
    t.notOk(known.includes(true), 'a question is no row');
  }
});

t.test('files of vectors come back as they were written: .npy and .fvecs', async (t) => {
  const folder = t.testdir();
  const values = Float32Array.from({ length: 30 }, (_, i) => i / 7);
  const npy = join(folder, 'a.npy');
  await writeVectorFile(npy, { rows: 6, dimensions: 5 }, [values.subarray(0, 10), values.subarray(10)]);
  const fvecs = join(folder, 'a.fvecs');
  const bytes = Buffer.alloc(6 * 24);
  for (let row = 0; row < 6; row++) {
    bytes.writeInt32LE(5, row * 24);
    for (let d = 0; d < 5; d++) bytes.writeFloatLE(values[row * 5 + d]!, row * 24 + 4 + d * 4);
  }
  await writeFile(fvecs, bytes);
  for (const path of [npy, fvecs]) {
    const file = await openVectorFile(path);
    t.match(file, { rows: 6, dimensions: 5 });
    t.same(await file.read(0, 6), values);
    t.same(await file.read(4, 1), values.slice(20, 25));
    await file.close();
  }
  const head = Buffer.from(`{'descr': '<f8', 'fortran_order': False, 'shape': (6, 5), }\n`);
  await writeFile(
    npy,
    Buffer.concat([Buffer.from([0x93]), Buffer.from('NUMPY\x01\x00'), Buffer.from([head.length, 0]), head]),
  );
  await t.rejects(openVectorFile(npy), /little-endian 32-bit floats: .*<f8/);
  await writeFile(fvecs, bytes.subarray(1));
  await t.rejects(openVectorFile(fvecs), /dimensions|bytes where/);
});

t.test(
  'tags have their share, and the exact answers of every filter are those of a plain sort',
  async (t) => {
    const vectorsPath = join(t.testdir(), 'v.npy');
    const vectors = made(3);
    await writeVectorFile(vectorsPath, size, vectors.rows(64));
    const file = await openVectorFile(vectorsPath);
    const tags = await makeTags(file, 1, 64);
    const all = await file.read(0, size.rows);
    await file.close();
    const matching = (bit: number) => tags.reduce((sum, tag) => sum + ((tag >> bit) & 1), 0);
    t.ok(Math.abs(matching(0) - 250) < 60);
    t.equal(matching(4), 50, 'a correlated tenth is a tenth exactly');
    const questions = vectors.questions(4);
    const answers = await exactSearch({ vectorsPath, tags, questions, depth: 10, blockRows: 64 }, () => {});
    const { dimensions } = size;
    for (let question = 0; question < 4; question++) {
      const scores = Array.from({ length: size.rows }, (_, row) => {
        let sum = 0;
        for (let d = 0; d < dimensions; d++)
          sum += all[row * dimensions + d]! * questions[question * dimensions + d]!;
        return { row, sum };
      }).sort((a, b) => b.sum - a.sum);
      for (const [which, filter] of [null, ...filters].entries()) {
        const wanted = scores
          .filter(({ row }) => filter === null || (tags[row]! & (1 << filter.bit)) !== 0)
          .slice(0, 10)
          .map(({ row }) => row);
        const found = [...answers[which]!.subarray(question * 10, question * 10 + 10)];
        t.same(found, [...wanted, ...Array(10 - wanted.length).fill(-1)], filter?.name ?? 'no filter');
      }
    }
  },
);
