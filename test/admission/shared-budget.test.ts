import { SharedBudget } from '../../src/admission/shared-budget.ts';
import t from '../support/tap.ts';

/** Takes single units until one is denied; returns the number taken. */
function takeAll(budget: SharedBudget, owner: string): number {
  let acquired = 0;
  while (budget.tryAcquire(owner, 1)) acquired += 1;
  return acquired;
}

t.test('each owner can reserve half of the free capacity', async (t) => {
  const budget = new SharedBudget(1_200);
  t.equal(takeAll(budget, 'a'), 600);
  t.equal(takeAll(budget, 'b'), 300);
  t.equal(takeAll(budget, 'c'), 150);
  t.equal(budget.used, 1_050);
  budget.release('a', 600);
  t.equal(budget.used, 450);
  t.equal(takeAll(budget, 'd'), 375, 'returned capacity is shared again');
});

t.test('owners with small reservations do not reduce the share of others', async (t) => {
  const budget = new SharedBudget(1_000);
  for (let i = 0; i < 50; i += 1) t.ok(budget.tryAcquire(`small ${i}`, 1));
  t.equal(takeAll(budget, 'a'), 475);
});

t.test('a rejected amount reserves nothing', async (t) => {
  const budget = new SharedBudget(100);
  t.notOk(budget.tryAcquire('a', 51));
  t.equal(budget.heldBy('a'), 0);
  t.ok(budget.tryAcquire('a', 50));
  budget.release('a', 50);
  t.equal(budget.used, 0);
});
