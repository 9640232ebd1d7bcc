import t from '../support/tap.ts';
import { findMessageViolations } from './commit-messages.ts';

t.test('a commit message has a short imperative subject with an area, and a body', async (t) => {
  const body = '\n\nThe reason.\n';
  t.same(findMessageViolations(`search: replace Map with array${body}`), []);
  t.same(findMessageViolations(`ingest: process small files first${body}`), []);
  t.same(findMessageViolations(`test/e2e: wait for the event${body}`), []);
  t.match(findMessageViolations('search: replace Map'), ['the body with the reason is missing']);
  t.match(findMessageViolations('search: replace Map\nThe reason.'), [
    'the second line is not empty',
    'the body with the reason is missing',
  ]);
  for (const verb of ['replaces', 'replaced', 'replacing']) {
    t.same(findMessageViolations(`search: ${verb} Map${body}`), [`"${verb}" is not an imperative`]);
  }
  for (const subject of ['Replace Map', 'search: Replace Map', 'search: replace Map.']) {
    t.match(findMessageViolations(`${subject}${body}`), [/is not "area: imperative"/]);
  }
  t.match(findMessageViolations(`search: ${'x'.repeat(70)}${body}`), [/has 78 characters/]);
});
