import { assert } from '../../src/core/assert.ts';
import { encodeModel, type NodeDescription, type TensorData, toBytes } from './onnx.ts';

/** Output of contrastive.cpp; the comment at the top of that file describes the layout. */
export interface TrainedEmbedding {
  readonly vocabulary: number;
  readonly dimensions: number;
  /** [vocabulary x dimensions] */
  readonly table: Float32Array;
  /** Weight of each token in a query and in a document: [2 x vocabulary] */
  readonly weights: Float32Array;
  /** Initial vector of every query and every document: [2 x dimensions] */
  readonly prefixes: Float32Array;
}

/** Splits the trainer's output file into its parts. */
export function readTrainedEmbedding(file: Buffer, vocabulary: number, dimensions: number): TrainedEmbedding {
  const values = new Float32Array(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength));
  const cells = vocabulary * dimensions;
  assert(values.length === cells + 2 * vocabulary + 2 * dimensions, 'the trainer wrote every parameter');
  assert(values.every(Number.isFinite), 'training ended with finite parameters');
  return {
    vocabulary,
    dimensions,
    table: values.subarray(0, cells),
    weights: values.subarray(cells, cells + 2 * vocabulary),
    prefixes: values.subarray(cells + 2 * vocabulary),
  };
}

/** Quantizes each row to signed bytes with its own step; the largest component becomes 127. */
function quantizeRows(embedding: TrainedEmbedding): { codes: Int8Array; steps: Float32Array } {
  const { vocabulary, dimensions, table } = embedding;
  const codes = new Int8Array(table.length);
  const steps = new Float32Array(vocabulary);
  for (let row = 0; row < vocabulary; row += 1) {
    const values = table.subarray(row * dimensions, (row + 1) * dimensions);
    const peak = values.reduce((highest, value) => Math.max(highest, Math.abs(value)), 1e-9);
    steps[row] = peak / 127;
    for (const [index, value] of values.entries()) {
      codes[row * dimensions + index] = Math.round((value / peak) * 127);
    }
  }
  return { codes, steps };
}

const graphNodes: readonly NodeDescription[] = [
  { operator: 'Gather', inputs: ['kinds', 'rows'], outputs: ['entryKinds'] },
  { operator: 'Mul', inputs: ['entryKinds', 'vocabulary'], outputs: ['weightBase'] },
  { operator: 'Add', inputs: ['weightBase', 'tokens'], outputs: ['weightIndex'] },
  { operator: 'Gather', inputs: ['weights', 'weightIndex'], outputs: ['tokenWeights'] },
  { operator: 'Mul', inputs: ['tokenWeights', 'shares'], outputs: ['entryWeights'] },
  { operator: 'Unsqueeze', inputs: ['entryWeights', 'lastAxis'], outputs: ['entryScales'] },
  { operator: 'Gather', inputs: ['table', 'tokens'], outputs: ['codes'] },
  { operator: 'Cast', inputs: ['codes'], outputs: ['decoded'], attributes: { to: 1 } },
  { operator: 'Mul', inputs: ['decoded', 'entryScales'], outputs: ['updates'] },
  { operator: 'Cast', inputs: ['rows'], outputs: ['longRows'], attributes: { to: 7 } },
  { operator: 'Unsqueeze', inputs: ['longRows', 'lastAxis'], outputs: ['indices'] },
  { operator: 'Gather', inputs: ['prefixes', 'kinds'], outputs: ['starts'] },
  {
    operator: 'ScatterND',
    inputs: ['starts', 'indices', 'updates'],
    outputs: ['sums'],
    attributes: { reduction: 'add' },
  },
  { operator: 'ReduceL2', inputs: ['sums'], outputs: ['norms'], attributes: { axes: [1], keepdims: 1 } },
  { operator: 'Div', inputs: ['sums', 'norms'], outputs: ['vectors'] },
];

/**
 * Encodes the two binary files of the model. `table` contains the token vectors as signed bytes, [vocabulary
 * x dimensions]; `model` is the ONNX graph, which refers to `table` as the external file `tableFile`. Inputs
 * of the graph, for entries (one per distinct token of a text) and texts: tokens, rows (the text an entry
 * belongs to) int32 [entries], shares float [entries], kinds int32 [texts] (0 query, 1 document). Output:
 * vectors float [texts x dimensions] of length 1.
 */
export function encodeEmbedding(
  embedding: TrainedEmbedding,
  tableFile: string,
): { model: Uint8Array; table: Uint8Array } {
  const { vocabulary, dimensions } = embedding;
  const { codes, steps } = quantizeRows(embedding);
  const weights = embedding.weights.map((weight, index) => weight * steps[index % vocabulary]!);
  const table = toBytes(codes);
  const constants: TensorData[] = [
    {
      name: 'table',
      type: 'int8',
      shape: [vocabulary, dimensions],
      data: { file: tableFile, bytes: table.length },
    },
    { name: 'weights', type: 'float', shape: [2 * vocabulary], data: toBytes(weights) },
    { name: 'prefixes', type: 'float', shape: [2, dimensions], data: toBytes(embedding.prefixes.slice()) },
    { name: 'vocabulary', type: 'int32', shape: [], data: toBytes(Int32Array.of(vocabulary)) },
    { name: 'lastAxis', type: 'int64', shape: [1], data: toBytes(BigInt64Array.of(-1n)) },
  ];
  const model = encodeModel({
    name: 'static-embedding',
    documentation: 'Weighted mean of token vectors plus a prefix per side, scaled to length 1.',
    constants,
    inputs: [
      { name: 'tokens', type: 'int32', shape: ['entries'] },
      { name: 'shares', type: 'float', shape: ['entries'] },
      { name: 'rows', type: 'int32', shape: ['entries'] },
      { name: 'kinds', type: 'int32', shape: ['texts'] },
    ],
    outputs: [{ name: 'vectors', type: 'float', shape: ['texts', dimensions] }],
    nodes: graphNodes,
  });
  return { model, table };
}
