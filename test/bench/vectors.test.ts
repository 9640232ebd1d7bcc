import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomStream } from '../../bench/harness/random.ts';
import { ClusteredVectors, difficulties } from '../../bench/vectors/clustered-vectors.ts';
import { exactSearch } from '../../bench/vectors/exact-search.ts';
import { countHits, type SimilarityOf } from '../../bench/vectors/hits.ts';
import { filters, makeTags } from '../../bench/vectors/tags.ts';
import { ownBytesMax, readSize } from '../../bench/vectors/vector-dataset.ts';
import { openVectorFile, writeVectorFile } from '../../bench/vectors/vector-file.ts';
import t from '../support/tap.ts';

const size = { rows: 500, dimensions: 24 };
const generatedVectors = (seed: number, difficulty: 'easy' | 'hard' = 'easy') =>
  new ClusteredVectors({ ...size, seed, difficulty });
const joined = (vectors: ClusteredVectors, block: number) =>
  Float32Array.from([...vectors.rows(block)].flatMap((part) => [...part]));

/** Compares bytes; tap's own takes minutes for this many numbers. */
const equal = (a: Float32Array, b: Float32Array) =>
  a.length === b.length && a.every((value, i) => Object.is(value, b[i]));

t.test('generated vectors have length 1, lie in clusters and follow from the seed', async (t) => {
  for (const difficulty of difficulties) {
    const all = joined(generatedVectors(1, difficulty), 100);
    t.equal(all.length, size.rows * size.dimensions);
    t.ok(equal(joined(generatedVectors(1, difficulty), 7), all), 'regardless of the block size');
    t.notOk(equal(joined(generatedVectors(2, difficulty), 100), all));
    const row = (i: number) => all.subarray(i * size.dimensions, (i + 1) * size.dimensions);
    const product = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
    for (const i of [0, 17, 499]) t.ok(Math.abs(product(row(i), row(i)) - 1) < 1e-5);
    const others = Array.from({ length: size.rows - 1 }, (_, i) => product(row(0), row(i + 1))).sort(
      (a, b) => b - a,
    );
    t.ok(others[5]! > others[250]! + 0.3, 'some vectors are near, most are far');
    const question = generatedVectors(1, difficulty).questions(3);
    const known = Array.from({ length: size.rows }, (_, i) => equal(row(i), question.subarray(0, 24)));
    t.notOk(known.includes(true), 'no question equals a row');
  }
});

t.test('no two of very many vectors are the same, however few their dimensions', async (t) => {
  const [rows, dimensions] = [100_000, 4];
  for (const difficulty of difficulties) {
    const vectors = new ClusteredVectors({ seed: 1, rows, dimensions, difficulty });
    const distinct = new Set<string>();
    const blocks = [...vectors.rows(1_000), vectors.questions(1_000)];
    for (const block of blocks)
      for (let at = 0; at < block.length; at += dimensions)
        distinct.add(block.subarray(at, at + dimensions).join());
    t.equal(distinct.size, rows + 1_000, difficulty);
  }
});

t.test('random streams are independent, regardless of their keys', async (t) => {
  const streams = 100_000;
  const firsts = new Set<string>();
  let sum = 0;
  for (let i = 0; i < streams; i++) {
    const random = randomStream(i % 2, i);
    const [a, b] = [random(), random()];
    firsts.add(`${a} ${b}`);
    sum += a;
  }
  t.equal(firsts.size, streams);
  // The standard deviation of the mean is 0.0009.
  t.ok(Math.abs(sum / streams - 0.5) < 0.005, `${sum / streams}`);
  const [one, again] = [randomStream(1, 2, 3), randomStream(1, 2, 3)];
  for (let i = 0; i < 10; i++) t.equal(one(), again());
});

t.test('any of several equally near rows counts as correct', async (t) => {
  const list = (rows: number[], scores: number[]) => ({
    rows: Int32Array.from(rows),
    scores: Float64Array.from(scores),
  });
  const unknown = () => Promise.reject(new Error('the list of correct answers suffices'));
  const hits = (exact: ReturnType<typeof list>, returned: number[], similarityOf: SimilarityOf = unknown) =>
    countHits(exact, returned, { count: 3, similarityOf });
  const tied = list([7, 8, 1, 2, 5], [0.9, 0.8, 0.7, 0.7, 0.6]);
  t.same(await hits(tied, [7, 8, 1]), { found: 3, expected: 3 });
  t.same(await hits(tied, [2, 8, 7]), { found: 3, expected: 3 }, 'row 2 is as near as row 1');
  t.same(await hits(tied, [1, 2, 8]), { found: 3, expected: 3 }, 'both rows count');
  t.same(
    await hits(tied, [7, 7, 5]),
    { found: 1, expected: 3 },
    'a row counts once, and a farther row does not count',
  );
  t.same(await hits(tied, [99, 7, 5, 8, 1]), { found: 1, expected: 3 }, 'no more rows count than requested');
  const few = list([7, 8, -1, -1], [0.9, 0.8, ...Array(2).fill(Number.NEGATIVE_INFINITY)]);
  t.same(await hits(few, [8, 3]), { found: 1, expected: 2 }, 'fewer rows match than requested');
  const deep = list([7, 8, 1], [0.9, 0.7, 0.7]);
  const similarityOf = async (row: number) => (row === 40 ? 0.7 : row === 41 ? 0.69 : null);
  t.same(await hits(deep, [40, 41, 42], similarityOf), { found: 1, expected: 3 }, 'ties beyond the list');
});

t.test('all rows of a file are used up to a gigabyte, or the requested number', async (t) => {
  const folder = t.testdir();
  const small = join(folder, 'small.npy');
  await writeVectorFile(small, { rows: 300, dimensions: 2 }, [new Float32Array(600)]);
  const asking = { questionsFile: null, dimensions: 384, questions: 20 };
  t.same(await readSize({ ...asking, vectorsFile: small, rows: null }), {
    rows: 280,
    dimensions: 2,
    questions: 20,
    unused: { rows: 0, questions: 0 },
  });
  t.match(await readSize({ ...asking, vectorsFile: small, questionsFile: small, rows: 100 }), {
    rows: 100,
    questions: 20,
    unused: { rows: 200, questions: 280 },
  });
  // A sparse file: its rows use no disk space.
  const large = join(folder, 'large.fvecs');
  const [rows, dimensions] = [300_000, 1_023];
  await writeFile(large, Uint8Array.from([dimensions & 255, dimensions >> 8, 0, 0]));
  await truncate(large, rows * 4 * (dimensions + 1));
  const fitting = Math.floor(ownBytesMax / (4 * dimensions));
  t.match(await readSize({ ...asking, vectorsFile: large, rows: null }), {
    rows: fitting,
    unused: { rows: rows - 20 - fitting },
  });
});

t.test('vectors read from .npy and .fvecs files equal the written ones', async (t) => {
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
  'tags match their share of rows, and the exact answers of every filter equal those of a plain sort',
  async (t) => {
    const vectorsPath = join(t.testdir(), 'v.npy');
    const vectors = generatedVectors(3);
    await writeVectorFile(vectorsPath, size, vectors.rows(64));
    const file = await openVectorFile(vectorsPath);
    const tags = await makeTags(file, 1, 64);
    const all = await file.read(0, size.rows);
    await file.close();
    const matching = (bit: number) => tags.reduce((sum, tag) => sum + ((tag >> bit) & 1), 0);
    t.ok(Math.abs(matching(0) - 250) < 60);
    t.equal(matching(4), 50, 'a correlated tenth is exactly a tenth');
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
        const expected = scores
          .filter(({ row }) => filter === null || (tags[row]! & (1 << filter.bit)) !== 0)
          .slice(0, 10)
          .map(({ row }) => row);
        const found = [...answers[which]!.rows.subarray(question * 10, question * 10 + 10)];
        t.same(found, [...expected, ...Array(10 - expected.length).fill(-1)], filter?.name ?? 'no filter');
      }
    }
  },
);
