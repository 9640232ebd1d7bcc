import { formatLogLine } from '../../src/core/log-line.ts';
import t from '../support/tap.ts';

t.test('a log line for a terminal is one line of text without control characters', async (t) => {
  const fields = { host: '0.0.0.0', baseUrl: null, shard: 3, path: 'a\u001b[2Jb\nc', list: ['x'] };
  const line = JSON.stringify({ level: 40, time: '2026-01-01', ...fields, msg: 'plain HTTP' });
  t.equal(formatLogLine(line), 'Warning: plain HTTP (host: 0.0.0.0, shard: 3, path: a [2Jb c, list: ["x"])');
});
