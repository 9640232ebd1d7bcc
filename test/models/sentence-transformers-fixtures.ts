import { embeddingWidth } from './model-folder-fixtures.ts';

/** Files of sentence-transformers: pooling, modules, and a dense layer. */

/** Configuration of the pooling module. */
export const poolingConfig = (fields: object) => ({
  '1_Pooling/config.json': { word_embedding_dimension: embeddingWidth, ...fields },
});

/** Dense layer from `inputs` to two outputs, as a safetensors file. */
export function denseLayer(inputs: number, cut = 0): Uint8Array {
  const floatsOf = (values: readonly number[]) => Buffer.from(Float32Array.from(values).buffer);
  const weight = floatsOf(Array.from({ length: 2 * inputs }, (_, i) => Math.cos(i)));
  const bias = floatsOf([0.25, -0.5]);
  const header = Buffer.from(
    JSON.stringify({
      __metadata__: { format: 'pt' },
      'linear.weight': { dtype: 'F32', shape: [2, inputs], data_offsets: [0, weight.length] },
      'linear.bias': { dtype: 'F32', shape: [2], data_offsets: [weight.length, weight.length + bias.length] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const whole = Buffer.concat([length, header, weight, bias]);
  return whole.subarray(0, whole.length - cut);
}

/** List of modules, the first of which is the transformer. */
export const modulesFile = (...list: readonly (readonly [type: string, path: string])[]) => ({
  'modules.json': [['Transformer', ''] as const, ...list].map(([type, path], i) => ({
    name: String(i),
    path,
    type: `sentence_transformers.models.${type}`,
  })),
});
/** Model with a dense layer, without the weights of the layer. */
export const denseModelFiles = {
  ...modulesFile(['Pooling', '1_Pooling'], ['Dense', '2_Dense'], ['Normalize', '3_Normalize']),
  ...poolingConfig({ pooling_mode_mean_tokens: true }),
  '2_Dense/config.json': {
    in_features: embeddingWidth,
    out_features: 2,
    bias: true,
    activation_function: 'torch.nn.modules.activation.Tanh',
  },
};
