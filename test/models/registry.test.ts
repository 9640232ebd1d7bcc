import { AppError } from '../../src/core/app-error.ts';
import { getEmbeddingModel, openEmbedder } from '../../src/models/registry.ts';
import t from '../support/tap.ts';

t.test('an unknown embedding model is a 404 that lists the known ones', async (t) => {
  for (const id of ['', 'zembed-2', 'ZEMBED-1', '__proto__']) {
    try {
      getEmbeddingModel(id);
      t.fail(`${id} is accepted`);
    } catch (error) {
      t.ok(error instanceof AppError);
      t.match(error, { status: 404, message: 'zembed-1' });
    }
  }
  await t.rejects(openEmbedder('nothing'), AppError);
});
