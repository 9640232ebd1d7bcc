import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type PlanState,
  type PlanTransition,
  planStateOf,
  planStates,
  planTransitionOf,
  requestedTransitions,
  stripeTransitions,
  transitionsBetween,
} from '../../src/billing/plan-states.ts';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

const pagePath = join(projectRoot, 'docs', 'reference', 'plan-states.md');

interface TransitionRow {
  readonly state: PlanState;
  readonly event: string;
  readonly transition: PlanTransition;
}

function rowsOf(
  table: Readonly<Record<string, Partial<Record<PlanState, PlanTransition>>>>,
): TransitionRow[] {
  return Object.entries(table).flatMap(([event, byState]) =>
    planStates.flatMap((state) => {
      const transition = byState[state];
      return transition === undefined ? [] : [{ state, event, transition }];
    }),
  );
}

const rows = [...rowsOf(requestedTransitions), ...rowsOf(stripeTransitions)];

/** Table of the page: `| state | event | transition | next state |`. */
function renderTable(): string {
  const lines = rows.map(({ state, event, transition: { name, to } }) => {
    const next = to.length === 0 ? 'unchanged' : to.map((each) => `\`${each}\``).join(', ');
    return `| \`${state}\` | \`${event}\` | \`${name}\` | ${next} |`;
  });
  return ['| State | Event | Transition | Next state |', '|---|---|---|---|', ...lines, ''].join('\n');
}

/** Diagram of the page: one arrow for each pair of states, labeled with its transitions. */
function renderDiagram(): string {
  const arrows = planStates.flatMap((from) =>
    planStates
      .map((to) => ({ to, names: from === to ? [] : transitionsBetween(from, to) }))
      .filter(({ names }) => names.length > 0)
      .map(({ to, names }) => `  ${from} --> ${to}: ${names.join(', ')}`),
  );
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> none', ...arrows, '```'].join('\n');
}

t.test('the page of plan states has the table and the diagram of the code', async (t) => {
  const page = readFileSync(pagePath, 'utf8');
  const updated = page
    .replace(/```mermaid[\s\S]*?```/, renderDiagram)
    .replace(/\| State \|[\s\S]*?\|\n(?=\n|$)/, renderTable);
  if (process.env.PLAN_STATES_PAGE === 'write') writeFileSync(pagePath, updated);
  else t.equal(page, updated);
  t.ok(page.includes(renderDiagram()), 'the diagram is on the page');
  t.ok(page.includes(renderTable()), 'the table is on the page');
});

t.test('the page describes the effects of each transition', async (t) => {
  const [, effects = ''] = readFileSync(pagePath, 'utf8').split('## Effects');
  for (const { name } of rows.map(({ transition }) => transition))
    if (!name.startsWith('reject_')) t.ok(effects.includes(`| \`${name}\` |`), name);
});

t.test('each status of Stripe is one state', async (t) => {
  t.equal(planStateOf(null), 'none');
  for (const status of ['incomplete', 'active', 'past_due', 'unpaid', 'paused'])
    t.equal(planStateOf({ status }), status);
  t.equal(planStateOf({ status: 'trialing' }), 'active');
  t.equal(planStateOf({ status: 'a new status' }), 'unknown');
});

t.test('rejections do not change the state', async (t) => {
  for (const { name, to } of rows.map(({ transition }) => transition))
    if (name.startsWith('reject_')) t.strictSame(to, [], name);
  t.equal(planTransitionOf('pause', { status: 'past_due' }), 'reject_unpaid_invoice');
});

t.test('a change of the state between two reads has the names of its transitions', async (t) => {
  t.strictSame(transitionsBetween('none', 'active'), ['start']);
  t.strictSame(transitionsBetween('incomplete', 'active'), ['continue_start', 'activate']);
  t.strictSame(transitionsBetween('none', 'paused'), [], 'several transitions');
});
