import { encodeModel, toBytes } from './onnx.ts';
import { featureCount, featureDirections } from './rerank-features.ts';
import { listLength, type RerankLists } from './rerank-lists.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TerminalProgress } from './terminal-progress.ts';

const hidden = 16;
const initialLearningRate = 0.003;
const weightDecay = 1e-4;
const batchLists = 32;
/**
 * Weight of the pointwise loss relative to the listwise loss; the pointwise loss makes scores of different
 * queries comparable.
 */
const pointwiseLossWeight = 0.2;
const featureClip = 5;

/** score = sigmoid(out . [x, tanh(inner x + innerBias)] + outBias) for standardized features x. */
interface Network {
  readonly mean: Float32Array;
  readonly deviation: Float32Array;
  /**
   * Weights in this order: inner [hidden x featureCount], innerBias [hidden], out [featureCount + hidden],
   * outBias [1].
   */
  readonly weights: Float32Array;
}

const innerBiasAt = hidden * featureCount;
const outAt = innerBiasAt + hidden;
const outBiasAt = outAt + featureCount + hidden;
const weightCount = outBiasAt + 1;

function standardize(features: Float32Array): { mean: Float32Array; deviation: Float32Array } {
  const rows = features.length / featureCount;
  const mean = new Float32Array(featureCount);
  const deviation = new Float32Array(featureCount);
  for (let feature = 0; feature < featureCount; feature += 1) {
    let sum = 0;
    let squares = 0;
    for (let at = feature; at < features.length; at += featureCount) {
      sum += features[at]!;
      squares += features[at]! ** 2;
    }
    mean[feature] = sum / rows;
    deviation[feature] = Math.sqrt(Math.max(squares / rows - (sum / rows) ** 2, 1e-6));
  }
  return { mean, deviation };
}

/**
 * Returns the network's output before the sigmoid for the standardized row at `at`; fills `inner` with the
 * hidden values.
 */
function forward(weights: Float32Array, x: Float32Array, at: number, inner: Float32Array): number {
  let value = weights[outBiasAt]!;
  for (let i = 0; i < featureCount; i += 1) value += weights[outAt + i]! * x[at + i]!;
  for (let h = 0; h < hidden; h += 1) {
    let sum = weights[innerBiasAt + h]!;
    for (let i = 0; i < featureCount; i += 1) sum += weights[h * featureCount + i]! * x[at + i]!;
    inner[h] = Math.tanh(sum);
    value += weights[outAt + featureCount + h]! * inner[h]!;
  }
  return value;
}

function backward(
  weights: Float32Array,
  row: { x: Float32Array; at: number; inner: Float32Array; slope: number },
  gradient: Float32Array,
): void {
  const { x, at, inner, slope } = row;
  gradient[outBiasAt]! += slope;
  for (let i = 0; i < featureCount; i += 1) gradient[outAt + i]! += slope * x[at + i]!;
  for (let h = 0; h < hidden; h += 1) {
    gradient[outAt + featureCount + h]! += slope * inner[h]!;
    const through = slope * weights[outAt + featureCount + h]! * (1 - inner[h]! ** 2);
    gradient[innerBiasAt + h]! += through;
    for (let i = 0; i < featureCount; i += 1) gradient[h * featureCount + i]! += through * x[at + i]!;
  }
}

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));

/** Adds the gradient of one list, whose first row is the relevant document. Returns its listwise loss. */
function accumulateListGradient(
  weights: Float32Array,
  x: Float32Array,
  list: number,
  gradient: Float32Array,
): number {
  const inners = Array.from({ length: listLength }, () => new Float32Array(hidden));
  const start = list * listLength * featureCount;
  const values = inners.map((inner, row) => forward(weights, x, start + row * featureCount, inner));
  const highest = Math.max(...values);
  const total = values.reduce((sum, value) => sum + Math.exp(value - highest), 0);
  for (const [row, value] of values.entries()) {
    const right = row === 0 ? 1 : 0;
    const balance = right === 1 ? 1 : 1 / (listLength - 1);
    const slope =
      Math.exp(value - highest) / total - right + pointwiseLossWeight * balance * (sigmoid(value) - right);
    backward(weights, { x, at: start + row * featureCount, inner: inners[row]!, slope }, gradient);
  }
  return Math.log(total) + highest - values[0]!;
}

const monotonicDirections: readonly number[] = Object.values(featureDirections);

/** Sets every weight to zero that would violate the monotonicity of a feature. */
function enforceMonotonicity(weights: Float32Array): void {
  for (const [i, direction] of monotonicDirections.entries()) {
    if (direction === 0) continue;
    for (let h = 0; h < hidden; h += 1) {
      if (weights[h * featureCount + i]! * direction < 0) weights[h * featureCount + i] = 0;
    }
    if (weights[outAt + i]! * direction < 0) weights[outAt + i] = 0;
  }
  for (let h = 0; h < hidden; h += 1) {
    if (weights[outAt + featureCount + h]! < 0) weights[outAt + featureCount + h] = 0;
  }
}

/** Trains with Adam over shuffled lists; the learning rate decays to zero. */
function trainWeights(
  x: Float32Array,
  lists: number,
  epochs: number,
  random: SeededRandom,
  progress: TerminalProgress,
): Float32Array {
  const weights = new Float32Array(weightCount);
  for (let i = 0; i < outAt; i += 1) weights[i] = random.nextNormal() / Math.sqrt(featureCount);
  for (let h = 0; h < hidden; h += 1) weights[outAt + featureCount + h] = 1 / hidden;
  enforceMonotonicity(weights);
  const mean = new Float32Array(weightCount);
  const square = new Float32Array(weightCount);
  const gradient = new Float32Array(weightCount);
  const steps = epochs * Math.floor(lists / batchLists);
  let smoothedLoss = 0;
  for (let step = 0; step < steps; step += 1) {
    gradient.fill(0);
    let loss = 0;
    for (let i = 0; i < batchLists; i += 1)
      loss += accumulateListGradient(weights, x, random.nextInt(lists), gradient) / batchLists;
    const learningRate = initialLearningRate * (1 - step / steps);
    for (let i = 0; i < weightCount; i += 1) {
      const slope = gradient[i]! / batchLists + weightDecay * weights[i]!;
      mean[i] = 0.9 * mean[i]! + 0.1 * slope;
      square[i] = 0.999 * square[i]! + 0.001 * slope * slope;
      const corrected = mean[i]! / (1 - 0.9 ** (step + 1));
      weights[i]! -= (learningRate * corrected) / (Math.sqrt(square[i]! / (1 - 0.999 ** (step + 1))) + 1e-8);
    }
    enforceMonotonicity(weights);
    smoothedLoss = step === 0 ? loss : 0.99 * smoothedLoss + 0.01 * loss;
    progress.update(`reranker: step ${step + 1} of ${steps}, loss ${smoothedLoss.toFixed(4)}`);
  }
  progress.complete(`reranker trained, loss ${smoothedLoss.toFixed(4)}`);
  return weights;
}

/**
 * Scales the network's output so that its sigmoid is the probability that a document is relevant, given
 * equally many relevant and irrelevant ones: logistic regression on one variable (Platt 1999), by Newton's
 * method.
 */
function calibrate(weights: Float32Array, x: Float32Array): void {
  const inner = new Float32Array(hidden);
  const values = Float64Array.from({ length: x.length / featureCount }, (_, row) =>
    forward(weights, x, row * featureCount, inner),
  );
  let [slope, shift] = [1, 0];
  for (let round = 0; round < 20; round += 1) {
    const sums = { a: 0, b: 0, aa: 1e-6, ab: 0, bb: 1e-6 };
    for (const [row, value] of values.entries()) {
      const right = row % listLength === 0;
      const balance = right ? 1 : 1 / (listLength - 1);
      const probability = sigmoid(slope * value + shift);
      const error = balance * (probability - (right ? 1 : 0));
      const curve = balance * probability * (1 - probability);
      sums.a += error * value;
      sums.b += error;
      sums.aa += curve * value * value;
      sums.ab += curve * value;
      sums.bb += curve;
    }
    const determinant = sums.aa * sums.bb - sums.ab * sums.ab;
    slope -= (sums.bb * sums.a - sums.ab * sums.b) / determinant;
    shift -= (sums.aa * sums.b - sums.ab * sums.a) / determinant;
  }
  for (let i = outAt; i < weightCount; i += 1) weights[i]! *= slope;
  weights[outBiasAt]! += shift;
}

/** Trains the network on the lists. */
export function trainNetwork(
  lists: RerankLists,
  epochs: number,
  random: SeededRandom,
  progress: TerminalProgress,
): Network {
  const { mean, deviation } = standardize(lists.features);
  const x = lists.features.map((value, index) => {
    const feature = index % featureCount;
    return Math.max(-featureClip, Math.min(featureClip, (value - mean[feature]!) / deviation[feature]!));
  });
  const weights = trainWeights(x, lists.listCount, epochs, random, progress);
  calibrate(weights, x);
  return { mean, deviation, weights };
}

/** Encodes the ONNX file: features float [documents x featureCount] to scores float [documents]. */
export function encodeNetwork(network: Network): Uint8Array {
  const { weights } = network;
  const transposed = new Float32Array(featureCount * hidden);
  for (let h = 0; h < hidden; h += 1) {
    for (let i = 0; i < featureCount; i += 1) transposed[i * hidden + h] = weights[h * featureCount + i]!;
  }
  const float = (name: string, shape: readonly number[], values: Float32Array) =>
    ({ name, type: 'float', shape, data: toBytes(values) }) as const;
  return encodeModel({
    name: 'feature-reranker',
    documentation: 'Features of a query and a document to a score in 0..1.',
    constants: [
      float('mean', [featureCount], network.mean),
      float('deviation', [featureCount], network.deviation),
      float('lowest', [], Float32Array.of(-featureClip)),
      float('highest', [], Float32Array.of(featureClip)),
      float('inner', [featureCount, hidden], transposed),
      float('innerBias', [hidden], weights.slice(innerBiasAt, outAt)),
      float('out', [featureCount + hidden, 1], weights.slice(outAt, outBiasAt)),
      float('outBias', [1], weights.slice(outBiasAt)),
      { name: 'lastAxis', type: 'int64', shape: [1], data: toBytes(BigInt64Array.of(1n)) },
    ],
    inputs: [{ name: 'features', type: 'float', shape: ['documents', featureCount] }],
    outputs: [{ name: 'scores', type: 'float', shape: ['documents'] }],
    nodes: [
      { operator: 'Sub', inputs: ['features', 'mean'], outputs: ['centred'] },
      { operator: 'Div', inputs: ['centred', 'deviation'], outputs: ['scaled'] },
      { operator: 'Clip', inputs: ['scaled', 'lowest', 'highest'], outputs: ['x'] },
      { operator: 'MatMul', inputs: ['x', 'inner'], outputs: ['innerSum'] },
      { operator: 'Add', inputs: ['innerSum', 'innerBias'], outputs: ['innerValue'] },
      { operator: 'Tanh', inputs: ['innerValue'], outputs: ['innerOut'] },
      { operator: 'Concat', inputs: ['x', 'innerOut'], outputs: ['all'], attributes: { axis: 1 } },
      { operator: 'MatMul', inputs: ['all', 'out'], outputs: ['outSum'] },
      { operator: 'Add', inputs: ['outSum', 'outBias'], outputs: ['value'] },
      { operator: 'Sigmoid', inputs: ['value'], outputs: ['column'] },
      { operator: 'Squeeze', inputs: ['column', 'lastAxis'], outputs: ['scores'] },
    ],
  });
}
