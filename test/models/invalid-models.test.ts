import { addModel, listAddedModels } from '../../src/models/added-models.ts';
import type { ModelOverrides } from '../../src/models/inspect-model-folder.ts';
import t from '../support/tap.ts';
import { createDataFolder, defaultOptions, type Files } from './local-model-fixtures.ts';
import {
  buildGraph,
  embeddingWidth,
  floatTensor,
  gatherRows,
  graphWithExternalWeights,
  nextTokenGraph,
  tokenVectorsGraph,
  vocabulary,
  weightedTokensGraph,
  writeModelFolder,
} from './model-folder-fixtures.ts';
import { denseLayer, denseModelFiles, modulesFile, poolingConfig } from './sentence-transformers-fixtures.ts';

const nan = vocabulary.flatMap(() => Array.from({ length: embeddingWidth }, () => Number.NaN));
const shapeless = (
  name: string,
  shape: readonly (number | string)[],
  nodes: Parameters<typeof buildGraph>[0]['nodes'],
  values = nan,
) =>
  buildGraph({
    constants: [floatTensor('table', [vocabulary.length, embeddingWidth], values)],
    nodes,
    outputs: [{ name, type: 'float', shape }],
  });

const invalidModels: readonly (readonly [string, Files, RegExp, Partial<ModelOverrides>?])[] = [
  ['no config.json', { 'config.json': null }, /config\.json is missing/],
  ['a broken config.json', { 'config.json': '{"a":' }, /config\.json is not JSON/],
  ['a config.json that is a list', { 'config.json': '[]' }, /config\.json is not a JSON object/],
  ['no tokenizer.json', { 'tokenizer.json': null }, /tokenizer\.json is missing/],
  ['a broken tokenizer.json', { 'tokenizer.json': '{"model"' }, /tokenizer\.json is not JSON/],
  ['an empty tokenizer.json', { 'tokenizer.json': {} }, /tokenizer\.json cannot be used/],
  ['no graph', { 'model.onnx': null }, /contains no ONNX graph\. Expected model\.onnx or onnx\/model\.onnx/],
  ['an empty graph', { 'model.onnx': '' }, /model\.onnx cannot be loaded/],
  [
    'a graph that is not ONNX',
    { 'model.onnx': 'version https://git-lfs.github.com/spec/v1' },
    /model\.onnx is a Git LFS pointer, not the file itself\. Run `git lfs pull`/,
  ],
  ['half a graph', { 'model.onnx': tokenVectorsGraph().subarray(0, 200) }, /model\.onnx cannot be loaded/],
  [
    'a missing graph',
    {},
    /onnx\/other\.onnx is missing; choose one with --graph: model\.onnx/,
    { graph: 'onnx/other.onnx' },
  ],
  [
    'several ONNX graphs',
    { 'model.onnx': null, 'a.onnx': tokenVectorsGraph(), 'b.onnx': tokenVectorsGraph() },
    /several ONNX graphs; choose one with --graph: a\.onnx, b\.onnx/,
  ],
  [
    'a graph that gives NaN',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', 'tokens', embeddingWidth],
        [gatherRows('last_hidden_state')],
      ),
    },
    /zero, NaN or infinite/,
  ],
  [
    'a graph that gives zeros',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', 'tokens', embeddingWidth],
        [gatherRows('last_hidden_state')],
        nan.map(() => 0),
      ),
    },
    /zero, NaN or infinite/,
  ],
  [
    'a graph that gives the same for all',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', 'tokens', embeddingWidth],
        [gatherRows('last_hidden_state')],
        nan.map(() => 1),
      ),
    },
    /the same vector for different texts/,
  ],
  [
    'vectors of the wrong shape',
    {
      'model.onnx': shapeless(
        'last_hidden_state',
        ['texts', embeddingWidth],
        [
          gatherRows('rows'),
          {
            operator: 'ReduceMean',
            inputs: ['rows'],
            outputs: ['last_hidden_state'],
            attributes: { axes: [1], keepdims: 0 },
          },
        ],
        nan.map((_, i) => i),
      ),
    },
    /has shape \[1, 6\]|has shape \[\d+, 6\]; expected \[texts, tokens, dimensions\]/,
  ],
  [
    'scores of three classes',
    {
      'model.onnx': shapeless(
        'logits',
        ['texts', embeddingWidth],
        [
          gatherRows('rows'),
          {
            operator: 'ReduceMean',
            inputs: ['rows'],
            outputs: ['logits'],
            attributes: { axes: [1], keepdims: 0 },
          },
        ],
        nan.map((_, i) => i),
      ),
    },
    /"logits" has shape \[1, 6\], which is neither a score, two classes, nor token logits/,
  ],
  ['a score that is NaN', { 'model.onnx': weightedTokensGraph(vocabulary.map(() => Number.NaN)) }, /NaN/],
  [
    'an unknown input',
    {
      'model.onnx': buildGraph({
        inputs: ['input_ids', 'pixel_values'],
        constants: [floatTensor('table', [vocabulary.length, embeddingWidth], nan)],
        nodes: [gatherRows('x')],
        outputs: [{ name: 'x', type: 'float', shape: ['a', 'b', embeddingWidth] }],
      }),
    },
    /the unsupported input "pixel_values" \(int64\)\. Supported integer inputs: input_ids/,
  ],
  ['too many dimensions', {}, /has 6 dimensions; 7 were requested/, { dimensions: 7 }],
  [
    'an unknown pooling',
    poolingConfig({ pooling_mode_mean_tokens: false, pooling_mode_of_tomorrow: true }),
    /1_Pooling\/config\.json uses unsupported pooling: pooling_mode_of_tomorrow\. .*--pooling/,
  ],
  [
    'a template without document',
    { 'model.onnx': nextTokenGraph(() => 1) },
    /template must contain/,
    { template: '{query}' },
  ],
  ['the name of a built-in model', {}, /zembed-1 is a built-in model/, { id: 'zembed-1' }],
  ['a name that is a path', {}, /is not a valid model name/, { id: '../x' }],
  [
    'weights that are missing',
    { 'model.onnx': graphWithExternalWeights('w.bin') },
    /w\.bin is missing\. .*model\.onnx stores its weights there/,
  ],
  [
    'weights outside the folder',
    { 'model.onnx': graphWithExternalWeights('../w.bin') },
    /"\.\.\/w\.bin", outside the model folder/,
  ],
  [
    'truncated weights',
    { 'model.onnx': graphWithExternalWeights('w.bin'), 'w.bin': 'short' },
    /model\.onnx cannot be loaded/,
  ],
  ['an unknown module', modulesFile(['CNN', '1_CNN']), /modules\.json uses the unsupported module "CNN"/],
  ['modules that are not a list', { 'modules.json': {} }, /modules\.json is not a list of modules/],
  ['a module outside the folder', modulesFile(['Pooling', '../1']), /modules\.json refers to "\.\.\/1"/],
  ['a pooling without its file', modulesFile(['Pooling', 'p']), /p\/config\.json is missing/],
  ['no pooling', poolingConfig({ pooling_mode_mean_tokens: false }), /no pooling_mode_\* is true/],
  [
    'two poolings',
    poolingConfig({ pooling_mode_mean_tokens: true, pooling_mode_max_tokens: true }),
    /max_tokens.* and |mean_tokens and/,
  ],
  ['a dense layer without weights', denseModelFiles, /2_Dense\/model\.safetensors is missing/],
  [
    'a dense layer for Python',
    { ...denseModelFiles, '2_Dense/pytorch_model.bin': 'x' },
    /pytorch_model\.bin is a Python pickle/,
  ],
  [
    'a truncated dense layer',
    { ...denseModelFiles, '2_Dense/model.safetensors': denseLayer(embeddingWidth, 4) },
    /model\.safetensors cannot be used: tensor "linear\.bias" is truncated/,
  ],
  [
    'an empty dense layer',
    { ...denseModelFiles, '2_Dense/model.safetensors': 'x' },
    /model\.safetensors cannot be used: not a complete safetensors file/,
  ],
  [
    'a dense layer of another width',
    { ...denseModelFiles, '2_Dense/model.safetensors': denseLayer(3) },
    /expects 3 dimensions, got 6/,
  ],
  [
    'an unknown activation',
    { ...denseModelFiles, '2_Dense/config.json': { activation_function: 'torch.nn.GLU' } },
    /uses the unsupported activation "GLU"/,
  ],
];

for (const [what, files, message, options] of invalidModels) {
  t.test(`rejected with the reason: ${what}`, async (t) => {
    const data = createDataFolder(t);
    await t.rejects(addModel(data, writeModelFolder(t, files), { ...defaultOptions, ...options }), {
      name: 'AppError',
      message,
    });
    t.same(await listAddedModels(data), [], 'nothing was added');
  });
}
