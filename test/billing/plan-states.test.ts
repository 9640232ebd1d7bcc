import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  type PlanTransition,
  planEffectOf,
  planStateOf,
  planTransitions,
} from '../../src/billing/plan-states.ts';
import { projectRoot } from '../../src/core/root.ts';

const pagePath = join(projectRoot, 'docs', 'reference', 'plan-states.md');

/** Table of the page: `| state | event | effect | next state |`. */
function renderTable(): string {
  const rows = Object.entries(planTransitions).flatMap(([event, transitions]) =>
    Object.entries<PlanTransition>(transitions).map(
      ([state, { effect, to }]) =>
        `| \`${state}\` | \`${event}\` | \`${effect}\` | ${to.length === 0 ? 'unchanged' : to.map((each) => `\`${each}\``).join(', ')} |`,
    ),
  );
  return ['| State | Event | Effect | Next state |', '|---|---|---|---|', ...rows].join('\n');
}

t.test('the page of plan states has the table of the code', async (t) => {
  const page = readFileSync(pagePath, 'utf8');
  const updated = page.replace(/\| State \|[\s\S]*?\|\n(?=\n|$)/, () => `${renderTable()}\n`);
  if (process.env.PLAN_STATES_PAGE === 'write') writeFileSync(pagePath, updated);
  else t.equal(page, updated);
});

t.test('each status of Stripe is one state', async (t) => {
  t.equal(planStateOf(null), 'none');
  for (const status of ['incomplete', 'active', 'past_due', 'unpaid', 'paused'])
    t.equal(planStateOf({ status }), status);
  t.equal(planStateOf({ status: 'trialing' }), 'active');
  t.equal(planStateOf({ status: 'a new status' }), 'unknown');
});

t.test('rejections do not change the state', async (t) => {
  for (const transitions of Object.values(planTransitions))
    for (const { effect, to } of Object.values<PlanTransition>(transitions))
      if (effect.startsWith('reject_')) t.strictSame(to, [], effect);
  t.equal(planEffectOf('pause', { status: 'past_due' }), 'reject_unpaid_invoice');
});
