import { queryLimits } from '../../src/core/query-limits.ts';
import { findHighlights } from '../../src/search/highlights.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, searchRequest } from './search-fixtures.ts';

const weights = { lexical: 1, vector: 0 };
const control = { ...defaultControl, weights };

t.test('highlights are the words that match by stem, accent, script and corrected spelling', async (t) => {
  const first = await openComponents(t);
  const texts = {
    'refunds.txt': 'Refunds: we refund you, not a refuge. 👩‍👩‍👧 REFUNDED!',
    'accents.txt': '🐟🐟 Le café, un CAFE\u0301, le cafetier et le cafe.',
    'chinese.txt': '本公司的退款政策：退款需要三天。😀政策',
    'thai.txt': 'ต้มยำกุ้งเป็นอาหารไทยรสเปรี้ยว',
    'mixed.txt': 'Der Mietvertrag kann gekündigt werden; C++ und INV-2024-04711.',
  };
  for (const [path, text] of Object.entries(texts)) await addDocuments(first, { [path]: [text] });
  const search = createSearch(first, {});
  const highlighted = async (path: string, query: string, isRestricted = false) => {
    const request = searchRequest(first, { query, control, isRestricted });
    const { hits } = await search.searchSnippets(request);
    const hit = hits.find(({ version }) => version.path === path);
    if (hit === undefined) return null;
    const points = [...hit.snippet.text];
    return findHighlights(hit.snippet.text, hit.origin).map(([start, end]) =>
      points.slice(start, end).join(''),
    );
  };
  t.same(await highlighted('refunds.txt', 'refunding'), ['Refunds', 'refund', 'REFUNDED']);
  t.same(await highlighted('accents.txt', 'café'), ['café', 'CAFE\u0301', 'cafe']);
  t.same(await highlighted('chinese.txt', '退款政策'), ['退款政策', '退款', '政策']);
  t.same(await highlighted('thai.txt', 'อาหาร'), ['อาหาร']);
  t.same(await highlighted('mixed.txt', 'c++ inv-2024-04711'), ['C++', 'INV-2024-04711']);
  t.same(await highlighted('mixed.txt', 'Mietvertrga'), ['Mietvertrag'], 'the corrected word is highlighted');
  t.equal(await highlighted('mixed.txt', 'Mietvertrga', true), null, 'a restricted query is not corrected');
});

t.test('the number of highlights and the length of the examined text are limited', async (t) => {
  const matchesIn = (text: string) =>
    text.includes('herring') ? [{ queryWord: 'herring', words: ['herring'] }] : [];
  const many = 'herring '.repeat(queryLimits.highlightsMax + 50);
  const found = findHighlights(many, { matchesIn });
  t.equal(found.length, queryLimits.highlightsMax);
  t.same(found.at(-1), [8 * (queryLimits.highlightsMax - 1), 8 * queryLimits.highlightsMax - 1]);
  const cut = `herring ${'x'.repeat(queryLimits.highlightedUnitsMax - 16)} herrings herring`;
  t.same(findHighlights(cut, { matchesIn }), [[0, 7]], 'neither a cut word nor the rest is examined');
  t.same(findHighlights('', { matchesIn }), []);
});
