import t from '../support/tap.ts';
import { checkNear, openEmbedder, texts } from './local-model-fixtures.ts';
import { embeddingWidth, tokenIdsOf, vectorComponent } from './model-folder-fixtures.ts';
import { denseLayer, denseModelFiles, modulesFile, poolingConfig } from './sentence-transformers-fixtures.ts';

for (const [mode, pooling] of [
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_sqrt_len_tokens', 'mean-sqrt-length'],
  ['pooling_mode_weightedmean_tokens', 'weighted-mean'],
] as const) {
  t.test(`pooling of sentence-transformers: ${pooling}`, async (t) => {
    const files = { ...modulesFile(['Pooling', 'p']), 'p/config.json': { [mode]: true } };
    const { opened, model } = await openEmbedder(t, files);
    t.equal(model.pooling, pooling);
    const plainly = (ids: readonly number[], i: number): number => {
      if (pooling === 'max') return Math.max(...ids.map((id) => vectorComponent(id, i)));
      const weight = (at: number) => (pooling === 'weighted-mean' ? at + 1 : 1);
      return ids.reduce((sum, id, at) => sum + weight(at) * vectorComponent(id, i), 0);
    };
    const { vectors } = await opened.embed(texts, 'document');
    const expectedVectors = texts.flatMap((text) => {
      const vector = Array.from({ length: embeddingWidth }, (_, i) => plainly(tokenIdsOf(text), i));
      return vector.map((value) => value / Math.hypot(...vector));
    });
    checkNear(t, vectors, expectedVectors, pooling);
  });
}

t.test('a dense layer after the pooling, and prompts that are excluded from it', async (t) => {
  const files = { ...denseModelFiles, '2_Dense/model.safetensors': denseLayer(embeddingWidth) };
  const withPrompt = {
    ...files,
    ...poolingConfig({ pooling_mode_mean_sqrt_len_tokens: true, include_prompt: false }),
    'config_sentence_transformers.json': { prompts: { ask: 'yes no ' }, default_prompt_name: 'ask' },
  };
  for (const [result, skip, root] of [
    [files, 0, false],
    [withPrompt, 3, true],
  ] as const) {
    const { opened, model } = await openEmbedder(t, result);
    t.match(model, { dimensions: 2, layers: [{ file: '2_Dense/model.safetensors', activation: 'tanh' }] });
    for (const text of ['salt herring', 'tide']) {
      const ids = tokenIdsOf(skip === 0 ? text : `yes no ${text}`).slice(skip);
      const mean = Array.from(
        { length: embeddingWidth },
        (_, i) =>
          ids.reduce((sum, id) => sum + vectorComponent(id, i), 0) /
          (root ? Math.sqrt(ids.length) : ids.length),
      );
      const layer = [0.25, -0.5].map((bias, row) =>
        Math.tanh(mean.reduce((sum, value, i) => sum + Math.cos(row * embeddingWidth + i) * value, bias)),
      );
      const { vectors } = await opened.embed([text], 'document');
      checkNear(
        t,
        vectors,
        layer.map((value) => value / Math.hypot(...layer)),
        text,
      );
    }
  }
});
