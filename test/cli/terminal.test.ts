import { spawnSync } from 'node:child_process';
import { hasColors } from '../../src/cli/colors.ts';
import t from '../support/tap.ts';
import { openFakeServer } from './fake-server.ts';
import { runQuarry, runQuarryProcess } from './quarry.ts';

const hasScript = spawnSync('script', ['--version']).error === undefined;
/** Sets the title, clears the screen (7-bit and 8-bit), overwrites the line and reverses the direction. */
const hostile = 'Terms\u001b]0;title\u0007 \u001b[2J \u009b2J\rforged \u202eend';
const hostilePattern = /(?![\n\t])[\p{Control}\u202e]/u;
const document = {
  id: 'id',
  path: hostile,
  collection_name: 'default',
  index_status: 'indexed',
  metadata: { note: hostile },
  num_pages: 1,
  size: 12,
  file_url: 'http://127.0.0.1/file',
  content: `${hostile}\nsecond line`,
};

t.test(
  'no text of a document or server controls the terminal',
  { skip: !hasScript && 'needs util-linux script' },
  async (t) => {
    const { server, variables } = await openFakeServer(t);
    server.fixedReplies.set('documents/get-document-info', { document });
    const result = { path: hostile, page_span: [0, 1], content: hostile, score: 1 };
    server.fixedReplies.set('queries/top-snippets', { results: [result], warnings: [hostile] });
    const commands = [
      ['documents', 'get', 'a.txt', '--content'],
      ['documents', 'get', 'a.txt', '--json'],
      ['documents', 'get', 'a.txt'],
      ['search', 'terms'],
      ['search', 'terms', '--json'],
    ];
    for (const [i, command] of commands.entries()) {
      const run = i === 0 ? runQuarryProcess : runQuarry;
      const ended = await run(command, {
        variables: { ...variables, NO_COLOR: '1' },
        isOnTerminal: true,
      });
      t.equal(ended.code, 0, ended.out);
      t.match(ended.out, 'forged');
      t.notMatch(ended.out.replaceAll('\r\n', '\n'), hostilePattern, command.join(' '));
    }
    server.intercept = () => ({ status: 400, body: { detail: hostile } });
    const failed = await runQuarry(['search', 'terms'], { variables, isOnTerminal: true });
    t.equal(failed.code, 1);
    t.match(failed.out, /quarry: Terms\\u001b\]0;title\\u0007 \\u001b\[2J \\u009b2J\\u000dforged/);
    t.notMatch(failed.out.replaceAll('\r\n', '\n'), hostilePattern);
  },
);

t.test('a pipe receives the text of a document unchanged, and messages without controls', async (t) => {
  const { server, variables } = await openFakeServer(t);
  server.fixedReplies.set('documents/get-document-info', { document });
  const content = await runQuarry(['documents', 'get', 'a.txt', '--content'], { variables });
  t.equal(content.out, `${document.content}\n`);
  server.intercept = () => ({ status: 400, body: { detail: hostile } });
  const failed = await runQuarry(['search', 'terms'], { variables });
  t.notMatch(failed.err, hostilePattern);
});

t.test('colors follow NO_COLOR, FORCE_COLOR and the terminal, in this order', async (t) => {
  t.ok(hasColors(true, { TERM: 'xterm' }));
  t.notOk(hasColors(false, { TERM: 'xterm' }));
  t.notOk(hasColors(true, { TERM: 'dumb' }));
  t.ok(hasColors(true, { NO_COLOR: '' }), 'an empty value is no value');
  t.ok(hasColors(false, { FORCE_COLOR: '1' }));
  t.notOk(hasColors(true, { FORCE_COLOR: '0' }));
  t.notOk(hasColors(true, { FORCE_COLOR: '1', NO_COLOR: '1' }));
});

const marked = (word: string) => `\u001b[1;33m${word}\u001b[22;39m`;

t.test('search marks the matched words where colors are on', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const explain = {
    lexical: { score: 1, terms: ['term'], words: [['term', 'terms']] },
    vector: { similarity: 0.5 },
    fused: 0.1,
    rerank: null,
    relevance: 0.5,
  };
  const content = 'The term, not the terminal, ends. \u001b[31mOther terms.';
  server.fixedReplies.set('queries/top-snippets', {
    results: [{ path: 'a.txt', page_span: [0, 1], content, score: 1, explain }],
  });
  const command = ['search', 'terms'];
  const colored = await runQuarry(command, { variables: { ...variables, FORCE_COLOR: '1' } });
  t.match(colored.out, `The ${marked('term')}, not the terminal, ends. [31mOther ${marked('terms')}.`);
  t.match(colored.out, '\u001b[1m1.  a.txt page 1\u001b[22m\u001b[2m');
  const plain = await runQuarry(command, { variables });
  t.notMatch(plain.out, '\u001b');
  const json = await runQuarry([...command, '--json'], { variables: { ...variables, FORCE_COLOR: '1' } });
  t.notMatch(json.out, '\u001b');
});
