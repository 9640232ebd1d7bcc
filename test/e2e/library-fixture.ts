import type { CheckedApiClient, DocumentMetadata } from './checked-api-client.ts';
import { joinSharedServer } from './shared-server.ts';

/** A small set of documents in many languages, for tests of queries. */

interface Book {
  readonly path: string;
  readonly text: string;
  readonly metadata: DocumentMetadata;
}

/** Attributes cycle with different periods, so that every combination occurs and every filter selects differently. */
const subjects: readonly (readonly [string, string])[] = [
  [
    'refunds',
    'Customers who return a product within two weeks get their money back to the card they paid with.',
  ],
  ['invoice-4711', 'Invoice INV-2024-04711 over 1.250,00 EUR was sent to Müller GmbH; part number XJ-900/B.'],
  [
    'volcano',
    'The eruption of Eyjafjallajökull stopped air traffic over Europe for several days in April 2010.',
  ],
  [
    'bread',
    'Knead flour, water and salt, let the dough rest overnight and bake the loaf in a very hot oven.',
  ],
  [
    'bicycle',
    'To repair a flat tyre take the wheel off, pull out the inner tube and glue a patch on the hole.',
  ],
  [
    'parser.ts',
    'function parseHeader(bytes: Uint8Array) throws ERR_INVALID_CHECKSUM when crc32c does not match.',
  ],
  ['kündigung', 'Der Mietvertrag kann mit einer Frist von drei Monaten schriftlich gekündigt werden.'],
  ['versicherung', 'Die Haftpflichtversicherung zahlt Schäden, die ein Hund bei anderen Leuten anrichtet.'],
  ['上海', '上海的地铁系统每天运送超过一千万名乘客，是世界上最繁忙的地铁之一。'],
  ['京都', '京都の金閣寺は、庭園の池に映る黄金色の建物で知られています。'],
  ['김치', '김치는 배추를 소금에 절여 고춧가루와 마늘을 넣고 발효시킨 음식이다.'],
  ['ต้มยำ', 'ต้มยำกุ้งเป็นอาหารไทยรสเปรี้ยวเผ็ดที่ใส่กุ้ง ตะไคร้ และใบมะกรูด'],
  ['jardin', 'Les tomates demandent beaucoup de soleil et un arrosage régulier au pied de la plante.'],
  ['москва', 'Московский метрополитен открыли в мае тысяча девятьсот тридцать пятого года.'],
];
const colors = ['red', 'green', 'blue'];
const years = ['1999', '2010', '2024', '2025'];
export const books: readonly Book[] = Array.from({ length: 70 }, (_, i) => {
  const [name, text] = subjects[i % subjects.length]!;
  const volume = Math.floor(i / subjects.length);
  const metadata: Record<string, string | string[]> = {};
  if (i % 4 !== 3) metadata.color = colors[i % 3]!;
  if (i % 5 !== 0) metadata.year = years[i % 4]!;
  if (i % 3 !== 1) metadata['list:tags'] = [`t${i % 2}`, `u${i % 7}`].slice(0, i % 4 === 2 ? 0 : 2);
  const notes = volume === 0 ? '' : ` Note ${volume}: shelf ${i}, kept for the archive.`;
  return { path: `${name}/${volume}`, text: text + notes, metadata };
});

/** Two collections with the same documents. */
export const collections = { one: 'library', eight: 'library of eight shards' };

/** Joins the shared server as an organization with both collections. */
export async function joinLibrary(): Promise<CheckedApiClient> {
  const { api } = await joinSharedServer();
  await api.call('collections/add-collection', { collection_name: collections.one });
  await api.call('collections/add-collection', { collection_name: collections.eight, num_shards: 8 });
  for (const name of Object.values(collections)) {
    await api.addAll(
      name,
      books.map(({ path, text, metadata }) => ({ path, content: { type: 'text', text }, metadata })),
    );
  }
  return api;
}

export const queryOperations = [
  'queries/top-documents',
  'queries/top-pages',
  'queries/top-snippets',
] as const;
