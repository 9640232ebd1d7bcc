import t from 'tap';
import { addText, callOf, tokenOf, type UseCases, useCases } from './use-cases.ts';

async function address({ documents }: UseCases, path: string): Promise<string> {
  const { document } = await documents.getDocumentInfo(callOf(), { collection_name: 'papers', path });
  return tokenOf(document.file_url);
}

async function read(
  { files }: UseCases,
  token: string,
  range?: { start: number; end: number },
): Promise<string> {
  const file = await files.getDocumentFile(callOf(), token);
  const parts: Uint8Array[] = [];
  for await (const part of file.open(range ?? { start: 0, end: file.size })) parts.push(part);
  return Buffer.concat(parts).toString();
}

t.test('an address gives the raw bytes, whole or a part, of files and of texts', async (t) => {
  const parts = await useCases(t);
  const bytes = `${'x'.repeat(300_000)}the end`;
  const content = { type: 'auto', base64_data: Buffer.from(bytes).toString('base64') };
  await addText(parts, 'folder/file.bin', '', { content });
  await addText(parts, 'note.txt', 'a 🐟 note');
  t.equal(await read(parts, await address(parts, 'folder/file.bin')), bytes);
  t.equal(
    await read(parts, await address(parts, 'folder/file.bin'), { start: 299_999, end: 300_003 }),
    'xthe',
  );
  t.equal(await read(parts, await address(parts, 'note.txt')), 'a 🐟 note');
  t.equal(await read(parts, await address(parts, 'note.txt'), { start: 2, end: 6 }), '🐟');
  t.match(await parts.files.getDocumentFile(callOf(), await address(parts, 'folder/file.bin')), {
    filename: 'file.bin',
  });
});

t.test('an address ends with its document: deleted, replaced, or its collection gone', async (t) => {
  const parts = await useCases(t);
  for (const path of ['a.txt', 'b.txt', 'c.txt']) await addText(parts, path, path);
  const [a, b, c] = [
    await address(parts, 'a.txt'),
    await address(parts, 'b.txt'),
    await address(parts, 'c.txt'),
  ];
  await parts.documents.deleteDocument(callOf(), { collection_name: 'papers', path: 'a.txt' });
  await t.rejects(read(parts, a), { code: 'not_found' });
  await addText(parts, 'b.txt', 'another');
  await t.rejects(read(parts, b), { code: 'not_found' });
  t.equal(await read(parts, await address(parts, 'b.txt')), 'another');
  await parts.collections.deleteCollection(callOf(), { collection_name: 'papers' });
  await t.rejects(read(parts, c), { code: 'not_found' });
});

t.test('new metadata does not change the address', async (t) => {
  const parts = await useCases(t);
  await addText(parts, 'a.txt', 'same');
  const before = await address(parts, 'a.txt');
  const metadata = { tag: 'new' };
  await parts.documents.updateDocument(callOf(), { collection_name: 'papers', path: 'a.txt', metadata });
  t.equal(await address(parts, 'a.txt'), before);
  t.equal(await read(parts, before), 'same');
});

t.test('a token that we did not make is unknown, and one for a file opens no image', async (t) => {
  const parts = await useCases(t);
  await addText(parts, 'a.txt', 'a');
  const token = await address(parts, 'a.txt');
  const forged = [
    `${token}A`,
    token.slice(1),
    token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    '',
  ];
  for (const guess of forged) await t.rejects(read(parts, guess), { code: 'not_found' }, guess);
  await t.rejects(parts.files.getPageImage(callOf(), token), { code: 'not_found' });
  t.same(parts.drawn, []);
});
