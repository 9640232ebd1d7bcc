import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelCatalog } from '../../src/models/catalog.ts';
import { HttpEmbedder } from '../../src/models/http-embedder.ts';
import { HttpReranker } from '../../src/models/http-reranker.ts';
import { zembed1Preset, zerank2Preset } from '../../src/models/service-presets.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { loadCatalog } from './load-catalog.ts';
import { encodeTensors } from './safetensors-file.ts';
import {
  embeddingSize,
  embedTokens,
  multiply,
  randomNumbers,
  tokenize,
  tokens,
  yesLogit,
} from './toy-transformer.ts';
import { ToyWeightsService } from './toy-weights-service.ts';

/**
 * The client of zembed-1 and zerank-2 against their published contract. The reference builds the tokens, the product
 * of the projections and the score itself; the service only runs the network.
 */

t.setTimeout(testFileMsMax);
const differenceMax = 1e-3;
const texts = ['When are invoices due?', '  Salted herring keeps.\n', 'naïve 日本語 🐟', ''];
const sizes = [1_280, 640, 320, 160, 80, 40];
const matrices = new Map(
  sizes.map((size, i) => [size, Float32Array.from(randomNumbers(100 + size, (2_560 >> i) * size))]),
);

const bytes = (text: string) => [...Buffer.from(text)];

/** `<|im_start|>system\n` role `<|im_end|>\n<|im_start|>user\n` text `<|im_end|>\n`, as tokens. */
function frameTokens(role: string, text: string): number[] {
  return [
    ...[tokens.start, ...bytes(`system\n${role}`), tokens.end, ...bytes('\n')],
    ...[tokens.start, ...bytes(`user\n${text}`), tokens.end, ...bytes('\n')],
  ];
}

function scoreTokens(query: string, document: string): number[] {
  const assistant = [tokens.start, ...bytes('assistant\n')];
  return [...frameTokens(query.trim(), document.trim()), ...assistant];
}

const sigmoid = (value: number) => 1 / (1 + Math.exp(-value));

function toUnit(row: Float64Array): Float64Array {
  const length = Math.hypot(...row);
  return row.map((value) => value / length);
}

const products = new Map<number, Float64Array>();

/** M = P[d]; for each larger size in ascending order: M = P[larger] x M. */
function projectionTo(dimensions: number): Float64Array {
  const known = products.get(dimensions);
  if (known !== undefined) return known;
  let product = Float64Array.from(matrices.get(dimensions)!);
  for (const larger of [...sizes].reverse().filter((size) => size > dimensions)) {
    const matrix = matrices.get(larger)!;
    const rows = matrix.length / larger;
    const next = new Float64Array(rows * dimensions);
    for (let i = 0; i < rows; i += 1) {
      const left = Float64Array.from(matrix.subarray(i * larger, (i + 1) * larger));
      next.set(multiply(left, product, dimensions), i * dimensions);
    }
    product = next;
  }
  products.set(dimensions, product);
  return product;
}

function project(row: Float64Array, dimensions: number): Float64Array {
  return toUnit(dimensions === embeddingSize ? row : multiply(row, projectionTo(dimensions), dimensions));
}

/** Length of the difference of two vectors of length 1. */
function distance(left: ArrayLike<number>, right: ArrayLike<number>): number {
  if (left.length !== right.length) return Number.POSITIVE_INFINITY;
  return Math.hypot(...Array.from(left, (value, i) => value - right[i]!));
}

/** Writes a file outside of the test folder, which loading a catalog clears. */
function writeFile(t: Test, content: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-projections-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'projections.safetensors');
  writeFileSync(path, content);
  return path;
}

function writeProjections(t: Test): string {
  const tensors = sizes.map((size, i) => ({
    name: String(size),
    shape: [2_560 >> i, size],
    data: matrices.get(size)!,
  }));
  return writeFile(t, encodeTensors(tensors));
}

async function embed(catalog: ModelCatalog, inputType: 'query' | 'document'): Promise<Float32Array[]> {
  const { backend, dimensions } = catalog.getEmbedding('zembed-1');
  if (!(backend instanceof HttpEmbedder)) throw new Error('zembed-1 is not served over HTTP');
  const { vectors } = await backend.embed(texts, inputType, { urgent: false });
  return texts.map((_, i) => vectors.slice(i * dimensions, (i + 1) * dimensions));
}

t.test('zembed-1: vectors equal the reference in all lengths', async (t) => {
  const service = await ToyWeightsService.start(t);
  const catalog = await loadCatalog(t, {
    QUARRY_ZEMBED1_URL: service.url,
    QUARRY_EMBEDDING_PROJECTIONS_FILE: writeProjections(t),
  });
  let worst = 0;
  for (const inputType of ['query', 'document'] as const) {
    const vectors = await embed(catalog, inputType);
    for (const [i, text] of texts.entries()) {
      const row = embedTokens(frameTokens(inputType, text));
      for (const dimensions of [2_560, 1_280, 80, 40]) {
        t.equal(catalog.resolveDimensions('zembed-1', dimensions), dimensions);
        const vector = catalog.toDimensions('zembed-1', vectors[i]!, dimensions);
        worst = Math.max(worst, distance(vector, project(row, dimensions)));
      }
    }
  }
  t.ok(worst <= differenceMax, `largest distance ${worst}`);
  t.comment(`largest distance to the reference: ${worst.toExponential(2)}`);
});

t.test('zembed-1: each deviation from the contract is larger than the tolerance', (t) => {
  const row = embedTokens(frameTokens('query', texts[0]!));
  const deviations = {
    'other role': embedTokens(frameTokens('document', texts[0]!)),
    'no suffix': embedTokens(frameTokens('query', texts[0]!).slice(0, -2)),
    'no frame': embedTokens(bytes(texts[0]!)),
    'added token': embedTokens([...frameTokens('query', texts[0]!), tokens.added]),
  };
  for (const [name, other] of Object.entries(deviations))
    t.ok(distance(toUnit(row), toUnit(other)) > 10 * differenceMax, name);
  t.ok(distance(toUnit(row.slice(0, 40)), project(row, 40)) > 10 * differenceMax, 'prefix of a vector');
  t.end();
});

t.test('zembed-1: collections can store shorter vectors', async (t) => {
  const service = await ToyWeightsService.start(t);
  const variables = { QUARRY_ZEMBED1_URL: service.url, QUARRY_EMBEDDING_DIMENSIONS: '80' };
  await t.rejects(loadCatalog(t, variables), {
    code: 'invalid',
    message: /does not offer\. Prefixes of its vectors are wrong: .*QUARRY_EMBEDDING_PROJECTIONS_FILE/,
  });
  const file = { QUARRY_EMBEDDING_PROJECTIONS_FILE: writeProjections(t) };
  const catalog = await loadCatalog(t, { ...variables, ...file });
  const [vector] = await embed(catalog, 'document');
  const row = embedTokens(frameTokens('document', texts[0]!));
  t.ok(distance(vector!, project(row, 80)) <= differenceMax);
  t.ok(distance(catalog.toDimensions('zembed-1', vector!, 40), project(row, 40)) <= differenceMax);
  t.equal(catalog.resolveDimensions('zembed-1', null), 80);
  t.throws(() => catalog.resolveDimensions('zembed-1', 160), {
    code: 'bad_request',
    message: /Supported: 80, 40/,
  });
  await t.rejects(loadCatalog(t, { ...variables, ...file, QUARRY_EMBEDDING_DIMENSIONS: '100' }), {
    message: /QUARRY_EMBEDDING_DIMENSIONS is 100.*Available: 2560, 1280, 640, 320, 160, 80, 40/,
  });
});

t.test('zembed-1: without projections there is one length', async (t) => {
  const service = await ToyWeightsService.start(t);
  const catalog = await loadCatalog(t, { QUARRY_ZEMBED1_URL: service.url });
  t.equal(catalog.defaultEmbedding.id, 'zembed-1-embedding', 'new collections use it');
  t.equal(catalog.resolveDimensions('zembed-1', null), 2_560);
  t.throws(() => catalog.resolveDimensions('zembed-1', 640), { message: /Supported: 2560\./ });
  t.equal(
    catalog.getEmbeddingById('zembed-1').backend,
    'built-in',
    'collections of the built-in model keep it',
  );
});

async function score(catalog: ModelCatalog, name: string): Promise<readonly number[]> {
  const { backend } = catalog.getReranker(name);
  if (!(backend instanceof HttpReranker)) throw new Error(`${name} is not served over HTTP`);
  return [...(await backend.score(texts[1]!, texts.slice(0, 3), { urgent: false })).scores];
}

t.test('zerank-2: scores equal the reference, with either side applying template and scale', async (t) => {
  const expected = texts.slice(0, 3).map((text) => sigmoid(yesLogit(scoreTokens(texts[1]!, text)) / 5));
  const template = (query: string, document: string) =>
    zerank2Preset.template.replace('{query}', query).replace('{document}', document);
  const trained = await ToyWeightsService.start(t, { template, logitScale: 5 });
  const logits = await ToyWeightsService.start(t, { template });
  const plain = await ToyWeightsService.start(t);
  const catalogs = {
    'service with template and scale': await loadCatalog(t, { QUARRY_ZERANK2_URL: trained.url }),
    'service with template': await loadCatalog(t, {
      QUARRY_ZERANK2_URL: logits.url,
      QUARRY_RERANK_SCORES: 'logit',
    }),
    'service that joins the texts': await loadCatalog(t, {
      QUARRY_RERANK_URL: plain.url,
      QUARRY_RERANK_MODEL: 'plain',
      QUARRY_RERANK_TEMPLATE: zerank2Preset.template,
      QUARRY_RERANK_SCORES: 'logit',
      QUARRY_RERANK_LOGIT_SCALE: '5',
      QUARRY_MODEL_ALIASES: 'zerank-2=plain',
    }),
  };
  for (const [name, catalog] of Object.entries(catalogs)) {
    const scores = await score(catalog, 'zerank-2-nano');
    const worst = Math.max(...scores.map((value, i) => Math.abs(value - expected[i]!)));
    t.ok(worst <= differenceMax, `${name}: largest difference ${worst}`);
  }
  const unscaled = expected.map((value) => sigmoid(5 * Math.log(value / (1 - value))));
  t.ok(Math.max(...unscaled.map((value, i) => Math.abs(value - expected[i]!))) > 10 * differenceMax);
  t.ok(Math.abs(sigmoid(yesLogit(scoreTokens('x', 'y')) / 5) - expected[0]!) > 10 * differenceMax);
});

t.test('a preset rejects settings that it defines, and unusable projections', async (t) => {
  const url = 'http://127.0.0.1:9/v1';
  const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      {
        QUARRY_ZEMBED1_URL: url,
        QUARRY_EMBEDDING_QUERY_PREFIX: 'query: ',
        QUARRY_EMBEDDING_SPECIAL_TOKENS: 'none',
      },
      /^QUARRY_ZEMBED1_URL already defines.*Remove QUARRY_EMBEDDING_QUERY_PREFIX and QUARRY_EMBEDDING_SPECIAL_TOKENS\.$/,
    ],
    [{ QUARRY_ZERANK2_URL: url, QUARRY_RERANK_MODEL: 'x' }, /Remove QUARRY_RERANK_MODEL\.$/],
  ];
  for (const [variables, message] of wrong)
    await t.rejects(loadCatalog(t, variables), { code: 'invalid', message });
  const tensor = (name: string, rows: number, columns: number) => ({
    name,
    shape: [rows, columns],
    data: new Float32Array(rows * columns),
  });
  const files: readonly (readonly [Uint8Array, RegExp])[] = [
    [
      encodeTensors([tensor('1280', 2_560, 1_280), tensor('640', 1_281, 640)]),
      /"640" is 1281 x 640 instead of 1280 x 640/,
    ],
    [encodeTensors([tensor('80', 40, 80)]), /"80" is 40 x 80/],
    [encodeTensors([tensor('linear.weight', 4, 2)]), /"linear\.weight" is not a number of dimensions/],
    [encodeTensors([]), /it has 0 matrices/],
    [
      encodeTensors([tensor('40', 80, 40)]),
      /is for vectors of 80 dimensions, but zembed-1-embedding has 2560/,
    ],
    [encodeTensors([tensor('40', 80, 40)]).subarray(0, 200), /tensor "40" is truncated/],
    [Buffer.from('{}'), /not a complete safetensors file/],
  ];
  for (const [content, message] of files) {
    const path = writeFile(t, content);
    const variables = { QUARRY_ZEMBED1_URL: url, QUARRY_EMBEDDING_PROJECTIONS_FILE: path };
    await t.rejects(loadCatalog(t, variables), { code: 'invalid', message });
  }
  await t.rejects(
    loadCatalog(t, { QUARRY_ZEMBED1_URL: url, QUARRY_EMBEDDING_PROJECTIONS_FILE: '/nowhere' }),
    { message: /\/nowhere cannot be used: ENOENT/ },
  );
});

t.test('the texts of the presets have the special tokens of the contract', (t) => {
  const { query } = zembed1Preset.frames;
  t.same(tokenize(`${query.prefix}x${query.suffix}`), frameTokens('query', 'x'));
  t.end();
});
