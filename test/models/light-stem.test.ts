import { toLightStem } from '../../src/models/light-stem.ts';
import t from '../support/tap.ts';

t.test('forms of a word share one stem', async (t) => {
  const families = [
    ['cause', 'causes', 'caused', 'causing'],
    ['stop', 'stops', 'stopped', 'stopping'],
    ['city', 'cities'],
    ['class', 'classes'],
    ['box', 'boxes'],
    ['call', 'calls', 'called', 'calling'],
    ['quick', 'quickly'],
  ];
  for (const family of families) {
    const stems = new Set(family.map(toLightStem));
    t.equal(stems.size, 1, `${family.join(', ')}: ${[...stems].join(', ')}`);
  }
});

t.test('short words, numbers, identifiers and other scripts are unchanged', async (t) => {
  for (const word of ['is', 'gas', 'ring', 'bus', '1990s', 'x86', 'école', 'москва', '']) {
    t.equal(toLightStem(word), word);
  }
});

t.test('words that only look like forms have different stems', async (t) => {
  for (const [a, b] of [
    ['bring', 'br'],
    ['need', 'ne'],
    ['analysis', 'analysi'],
    ['species', 'spec'],
  ] as const) {
    t.not(toLightStem(a), toLightStem(b));
  }
});
