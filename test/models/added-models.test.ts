import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addModel, listAddedModels, removeModel, testModel } from '../../src/models/added-models.ts';
import { modelsFolder } from '../../src/models/models-folder.ts';
import t from '../support/tap.ts';
import {
  checkNear,
  createDataFolder,
  defaultOptions,
  expectedVector,
  openEmbedder,
  run,
  tokenWeights,
} from './local-model-fixtures.ts';
import {
  bertTokenizer,
  embeddingWidth,
  externalWeights,
  graphWithExternalWeights,
  tokenIdsOf,
  weightedTokensGraph,
  writeModelFolder,
} from './model-folder-fixtures.ts';

t.test('weights beside the graph are copied, regardless of the file name', async (t) => {
  for (const file of ['model.onnx_data', 'weights of mine.bin', `${'long'.repeat(40)}.bin`]) {
    const { opened } = await openEmbedder(t, {
      'model.onnx': graphWithExternalWeights(file),
      [file]: externalWeights,
    });
    checkNear(
      t,
      (await opened.embed(['salt'], 'query')).vectors,
      expectedVector(tokenIdsOf('salt'), 'mean'),
      file,
    );
  }
});

t.test('models are listed, tested and removed; their source folder is no longer needed', async (t) => {
  const data = createDataFolder(t);
  t.same(await listAddedModels(data), []);
  const folder = writeModelFolder(t, { 'model.onnx_data': 'weights' });
  const model = await addModel(data, folder, defaultOptions);
  await t.rejects(addModel(data, folder, defaultOptions), {
    code: 'conflict',
    message: /A model named small already exists/,
  });
  t.ok(
    existsSync(join(modelsFolder(data), 'small', 'model.onnx_data')),
    'weights in separate files are copied',
  );
  rmSync(folder, { recursive: true });
  t.same(await listAddedModels(data), [model]);
  const tried = await testModel(data, 'small', { query: 'herring', documents: ['herring', 'tide'], run });
  t.ok(Math.abs(tried.scores[0]! - 1) < 1e-5 && tried.scores[1]! < 0.999);
  await t.rejects(testModel(data, 'other', { query: '', documents: [], run }), {
    message: /Custom models: small/,
  });
  await addModel(data, writeModelFolder(t, { 'model.onnx': weightedTokensGraph(tokenWeights) }), {
    ...defaultOptions,
    id: 'judge',
  });
  t.equal((await testModel(data, 'judge', { query: 'a', documents: ['salt'], run })).scores.length, 1);
  await removeModel(data, 'small');
  t.match(await listAddedModels(data), [{ id: 'judge' }]);
  writeFileSync(join(modelsFolder(data), 'judge', 'quarry.json'), '{');
  await t.rejects(listAddedModels(data), { message: /judge\/quarry\.json cannot be read/ });
});

t.test('links can refer only to files of the folder or of the Hugging Face cache', async (t) => {
  const data = createDataFolder(t);
  const secret = join(data, 'secret.json');
  writeFileSync(secret, JSON.stringify(bertTokenizer));
  const folder = writeModelFolder(t, { 'tokenizer.json': null });
  symlinkSync(secret, join(folder, 'tokenizer.json'));
  await t.rejects(addModel(data, folder, defaultOptions), {
    message: /tokenizer\.json is a link to .*secret\.json, outside the model folder\. Copy the file/,
  });
  const cached = writeModelFolder(t, {}, 'models--x--y');
  const snapshot = join(cached, 'snapshots', 'abc');
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(cached, 'blobs'));
  for (const file of ['config.json', 'tokenizer.json', 'model.onnx']) {
    renameSync(join(cached, file), join(cached, 'blobs', `hash of ${file}`));
    symlinkSync(join('..', '..', 'blobs', `hash of ${file}`), join(snapshot, file));
  }
  t.match(await addModel(data, snapshot, defaultOptions), { id: 'small', dimensions: embeddingWidth });
});
