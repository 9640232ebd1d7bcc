import { TokenBudget } from '../../src/mcp/token-budget.ts';
import t from '../support/tap.ts';

t.test('a token is 4 bytes, and a text that does not fit costs nothing', async (t) => {
  const budget = new TokenBudget(2);
  t.notOk(budget.spend('123456789'));
  t.ok(budget.spend('12345'));
  t.notOk(budget.spend('1234'));
  t.ok(budget.spend('123'));
  t.equal(budget.charactersMax, 0);
  t.equal(new TokenBudget(undefined).charactersMax, 32_000);
});

t.test('the start of a text that fits contains whole characters', async (t) => {
  for (const text of ['\u{1F30B}'.repeat(9), 'é日'.repeat(9), 'plain text that is long'])
    for (let tokens = 0; tokens < 6; tokens += 1) {
      const start = new TokenBudget(tokens).spendStart(text);
      t.ok(text.startsWith(start) && start.isWellFormed());
      t.ok(Buffer.byteLength(start) <= 4 * tokens);
      t.ok(Buffer.byteLength(start) > 4 * tokens - 4 || start === text);
    }
  t.equal(new TokenBudget(1).spendStart('abc'), 'abc');
});
