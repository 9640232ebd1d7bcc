import t from '../support/tap.ts';
import {
  addTextDocument,
  createServices,
  fileTokenOf,
  type ServiceFixture,
  serviceCallFor,
} from './service-fixture.ts';

async function address({ documents }: ServiceFixture, path: string): Promise<string> {
  const { document } = await documents.getDocumentInfo(serviceCallFor(), { collection_name: 'papers', path });
  return fileTokenOf(document.file_url);
}

async function read(
  { files }: ServiceFixture,
  token: string,
  range?: { start: number; end: number },
): Promise<string> {
  const file = await files.getDocumentFile(serviceCallFor(), token);
  const parts: Uint8Array[] = [];
  for await (const part of file.open(range ?? { start: 0, end: file.size })) parts.push(part);
  return Buffer.concat(parts).toString();
}

t.test('a file URL returns the raw bytes, whole or a range, of files and texts', async (t) => {
  const parts = await createServices(t);
  const bytes = `${'x'.repeat(300_000)}the end`;
  const content = { type: 'auto', base64_data: Buffer.from(bytes).toString('base64') };
  await addTextDocument(parts, 'folder/file.bin', '', { content });
  await addTextDocument(parts, 'note.txt', 'a 🐟 note');
  t.equal(await read(parts, await address(parts, 'folder/file.bin')), bytes);
  t.equal(
    await read(parts, await address(parts, 'folder/file.bin'), { start: 299_999, end: 300_003 }),
    'xthe',
  );
  t.equal(await read(parts, await address(parts, 'note.txt')), 'a 🐟 note');
  t.equal(await read(parts, await address(parts, 'note.txt'), { start: 2, end: 6 }), '🐟');
  t.match(await parts.files.getDocumentFile(serviceCallFor(), await address(parts, 'folder/file.bin')), {
    filename: 'file.bin',
  });
});

t.test(
  'a file URL is invalid when its document is deleted or replaced, or its collection deleted',
  async (t) => {
    const parts = await createServices(t);
    for (const path of ['a.txt', 'b.txt', 'c.txt']) await addTextDocument(parts, path, path);
    const [a, b, c] = [
      await address(parts, 'a.txt'),
      await address(parts, 'b.txt'),
      await address(parts, 'c.txt'),
    ];
    await parts.documents.deleteDocument(serviceCallFor(), { collection_name: 'papers', path: 'a.txt' });
    await t.rejects(read(parts, a), { code: 'not_found' });
    await addTextDocument(parts, 'b.txt', 'another');
    await t.rejects(read(parts, b), { code: 'not_found' });
    t.equal(await read(parts, await address(parts, 'b.txt')), 'another');
    await parts.collections.deleteCollection(serviceCallFor(), { collection_name: 'papers' });
    await t.rejects(read(parts, c), { code: 'not_found' });
  },
);

t.test('new metadata does not change the file URL', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'same');
  const before = await address(parts, 'a.txt');
  const metadata = { tag: 'new' };
  await parts.documents.updateDocument(serviceCallFor(), {
    collection_name: 'papers',
    path: 'a.txt',
    metadata,
  });
  t.equal(await address(parts, 'a.txt'), before);
  t.equal(await read(parts, before), 'same');
});

t.test('a forged token is a 404, and a token for a file opens no image', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'a');
  const token = await address(parts, 'a.txt');
  const forged = [
    `${token}A`,
    token.slice(1),
    token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    '',
  ];
  for (const guess of forged) await t.rejects(read(parts, guess), { code: 'not_found' }, guess);
  await t.rejects(parts.files.getPageImage(serviceCallFor(), token), { code: 'not_found' });
  t.same(parts.renderedImages, []);
});
