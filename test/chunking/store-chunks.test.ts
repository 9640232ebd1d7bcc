import { packResults } from '../../src/chunking/pack-results.ts';
import { prepareDocument } from '../../src/chunking/prepare-document.ts';
import { encodeParts, storeChunks, storedParts } from '../../src/chunking/store-chunks.ts';
import { assertDefined } from '../../src/core/assert.ts';
import { decodeChunk, encodeChunk } from '../../src/storage/chunks.ts';
import { chunkProcessorsFor, letterEmbedder } from '../simulate/server-components.ts';
import t from '../support/tap.ts';

const task = {
  pages: ['Der Hafen ist voll. '.repeat(400), ' \n ', 'The harbor is full of herring. '.repeat(300), ''],
  unordered: true,
  title: 'Harbors',
  path: 'harbors.txt',
  headings: false,
  language: null,
  model: null,
  cancelFlag: null,
};

t.test('the stored form of chunks has the same parts, also after it was packed with others', async (t) => {
  const result = await prepareDocument(task, chunkProcessorsFor(letterEmbedder));
  const parts = [...encodeParts(result, encodeChunk)];
  t.equal(parts.length, result.chunks.length);
  const [, packed] = packResults([result, storeChunks(result, encodeChunk)]).results;
  const stored = assertDefined(packed?.stored, 'the result is in stored form');
  t.same([...storedParts(stored)], parts);
  t.same(packed?.chunks, []);
  t.same(
    parts.map(({ record }) => decodeChunk(record).text),
    result.chunks.map(({ text }) => text),
  );
  t.equal(parts.at(-1)?.codesEnd, result.codes.length);
  t.equal(parts.at(-1)?.fineTermsEnd, result.fineTerms.length);
  t.same(
    [...stored.starts],
    result.chunks.map(({ start }) => start),
  );
  const blanks = result.chunks.flatMap(({ blank }, i) => (blank ? i : []));
  t.ok(blanks.length > 0, 'there is a blank chunk');
  t.ok(blanks.every((i) => !stored.chunkOfRow.includes(i)));
  t.equal(stored.chunkOfRow.length + blanks.length, parts.length);
  t.same([...stored.languages].sort(), ['de', 'en']);
});
