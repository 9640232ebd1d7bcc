import { assert } from '../../src/core/assert.ts';
import type { EngineCall, EngineReply } from './engine-process.ts';
import { EngineWork } from './engine-work.ts';

/** Child process of one engine. Exits with the bench. */
let work: EngineWork | null = null;

async function runCall({ method, task }: EngineCall): Promise<unknown> {
  if (method === 'open') {
    assert(work === null, 'an engine is opened once');
    const { work: opened, ...rest } = await EngineWork.open(task as Parameters<typeof EngineWork.open>[0]);
    work = opened;
    return rest.opened;
  }
  assert(work !== null, 'an engine is opened first');
  switch (method) {
    case 'build':
      return work.build();
    case 'recall':
      return work.recall(task as Parameters<EngineWork['recall']>[0]);
    case 'measure':
      return work.measure(task as Parameters<EngineWork['measure']>[0]);
    case 'churn':
      return work.churn(task as Parameters<EngineWork['churn']>[0]);
    case 'save':
      return work.save();
    case 'close':
      return work.close();
  }
}

process.on('message', (call: EngineCall) => {
  if (work !== null) {
    work.onProgress = (done, total) =>
      process.send?.({
        number: call.number,
        progress: { method: call.method, done, total },
      } satisfies EngineReply);
  }
  runCall(call).then(
    (value) => process.send?.({ number: call.number, value } satisfies EngineReply),
    (error: Error) =>
      process.send?.({ number: call.number, failure: error.stack ?? error.message } satisfies EngineReply),
  );
});
process.once('disconnect', () => process.exit(0));
