import t from 'tap';
import { AppError } from '../../src/base/app-error.ts';
import { embeddingModel, openEmbedder } from '../../src/models/registry.ts';

t.test('an unknown embedding model is a 404 that lists the known ones', async (t) => {
  for (const id of ['', 'zembed-2', 'ZEMBED-1', '__proto__']) {
    try {
      embeddingModel(id);
      t.fail(`${id} is accepted`);
    } catch (error) {
      t.ok(error instanceof AppError);
      t.match(error, { status: 404, message: 'zembed-1' });
    }
  }
  await t.rejects(openEmbedder('nothing'), AppError);
});
