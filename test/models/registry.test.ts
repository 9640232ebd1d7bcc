import t from 'tap';
import { AppError } from '../../src/base/app-error.ts';
import { embeddingModel, offeredDimensions, openEmbedder } from '../../src/models/registry.ts';

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

t.test('dimensions that are offered are given, others are a 400 that lists them', async (t) => {
  const model = embeddingModel('zembed-1');
  t.equal(offeredDimensions(model, null), 2560);
  for (const dimensions of [2560, 1280, 640, 320, 160, 80, 40]) {
    t.equal(offeredDimensions(model, dimensions), dimensions);
  }
  for (const dimensions of [0, -1, 41, 5120, 320.5, Number.NaN]) {
    t.throws(() => offeredDimensions(model, dimensions), {
      status: 400,
      message: /2560, 1280, 640, 320, 160, 80, 40/,
    });
  }
});
