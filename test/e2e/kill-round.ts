import { buildPdf } from '../parsing/pdf-fixtures.ts';
import type { Test } from '../support/tap.ts';
import { CheckedApiClient, waitFor } from './checked-api-client.ts';
import type { ServerVariables, TestServer } from './server.ts';

const pdf = Buffer.from(buildPdf(['Granite on page one.', 'Marble on page two.']));

/**
 * Kills the server during the work on acknowledged documents; after the restart each of them exists and is completed.
 * `name` is the folder of the documents. The server is restarted with the additional variables. `kill` ends the process.
 */
export async function checkKillRound(
  t: Test,
  server: TestServer,
  collection_name: string,
  name: string,
  {
    variables = {},
    kill = async () => void (await server.stop('SIGKILL')),
  }: { variables?: ServerVariables; kill?: () => Promise<void> } = {},
) {
  const api = new CheckedApiClient(server);
  const used = async () => (await api.call('usage/counters')).all_time.docs.count;
  const usedBefore = await used();
  const adds = Array.from({ length: 24 }, (_, i) =>
    api.request('documents/add-document', {
      collection_name,
      path: `${name}/${i}`,
      content:
        i % 6 === 0
          ? { type: 'auto', base64_data: pdf.toString('base64') }
          : { type: 'text', text: `Granite number ${i} of round ${name}.` },
      metadata: { round: name },
    }),
  );
  for (const { status } of await Promise.all(adds)) t.equal(status, 201);
  const gone = [`${name}/1`, `${name}/6`];
  await api.call('documents/delete-document', { collection_name, path: gone });
  await api.call('documents/add-document', {
    collection_name,
    path: `${name}/2`,
    content: { type: 'text', text: `Overwritten granite of round ${name}.` },
    overwrite: true,
  });
  await kill();
  await server.restart(variables);
  await waitFor('the end of indexing', async () => {
    const status = await api.call('status/get-status', { collection_name });
    return status.num_indexed_documents === status.num_documents ? status : null;
  });
  t.equal(await used(), usedBefore + 25, 'each acknowledged document is counted once');
  const expected = Array.from({ length: 24 }, (_, i) => `${name}/${i}`).filter(
    (path) => !gone.includes(path),
  );
  const paths = await api.paths(collection_name, { path_prefix: `${name}/` });
  t.same(new Set(paths), new Set(expected));
  const listed = await api.find(collection_name, null, { filter: { round: name }, k: 100 });
  const overwritten = `${name}/2`;
  t.same(new Set(listed), new Set(expected.filter((path) => path !== overwritten)));
  const info = await api.info(collection_name, overwritten, true);
  t.match(info, { content: `Overwritten granite of round ${name}.`, metadata: {} });
  t.same((await api.find(collection_name, `overwritten round ${name}`, { k: 1 }))[0], overwritten);
}
