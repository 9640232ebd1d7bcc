import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { projectRoot } from '../../src/core/root.ts';

/** Expressions of the Grafana dashboard and the alert rules, and what they refer to. */

export interface MonitoringExpression {
  /** Title of the panel or name of the alert. */
  readonly owner: string;
  readonly expression: string;
  /** Labels in the legend of a panel. */
  readonly legendLabels: readonly string[];
}

interface DashboardPanel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface AlertFile {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string };
}

const deploy = join(projectRoot, 'deploy');

export function readAlertRules(): AlertRule[] {
  const file = parse(readFileSync(join(deploy, 'prometheus', 'alerts.yaml'), 'utf8')) as AlertFile;
  return file.groups.flatMap(({ rules }) => rules);
}

export function readMonitoringExpressions(): MonitoringExpression[] {
  const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana', 'quarry.json'), 'utf8')) as {
    panels: readonly DashboardPanel[];
  };
  const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      owner: title,
      expression: expr,
      legendLabels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
    })),
  );
  const alerts = readAlertRules().map(({ alert, expr }) => ({
    owner: alert,
    expression: expr,
    legendLabels: [],
  }));
  return [...panels, ...alerts];
}

/** The samples of a reply of `/metrics`: the labels of each, by the name of the metric. */
function parseSamples(exposition: string): Map<string, Map<string, string>[]> {
  const samples = new Map<string, Map<string, string>[]>();
  for (const line of exposition.split('\n')) {
    const name = /^(?:# TYPE )?([a-z_]+)/.exec(line)?.[1];
    if (name === undefined) continue;
    const found = samples.get(name) ?? [];
    samples.set(name, found);
    if (line.startsWith('#')) continue;
    const labels = [...(/\{(.*)\}/.exec(line)?.[1] ?? '').matchAll(/(\w+)="([^"]*)"/g)];
    found.push(new Map(labels.map(([, label, value]) => [label!, value!])));
  }
  return samples;
}

/** Labels that are not checked by value, because the server of the test has not used all of them. */
const openLabels = new Set(['operation']);

/** Returns one line per metric, label or value that the server does not have. */
export function findUnknownReferences(
  { owner, expression, legendLabels }: MonitoringExpression,
  exposition: string,
): string[] {
  const samples = parseSamples(exposition);
  const references = [...expression.matchAll(/\b(quarry_[a-z_]+)(?:\{([^}]*)\})?/g)];
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/, */));
  return references.flatMap(([, name, matchers = '']) => {
    const found = samples.get(name!);
    if (found === undefined) return [`${owner}: the metric ${name} does not exist`];
    const known = new Set(found.flatMap((labels) => [...labels.keys()]));
    const conditions = [...matchers.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)];
    const used = [...conditions.map(([, label]) => label!), ...grouped, ...legendLabels];
    // A metric without a sample, such as one per model service, shows no labels.
    const unknown = found.length === 0 ? [] : used.filter((label) => !known.has(label));
    const values = conditions.filter(
      ([, label, operator, value]) =>
        operator === '=' && !openLabels.has(label!) && !found.some((labels) => labels.get(label!) === value),
    );
    return [
      ...unknown.map((label) => `${owner}: ${name} has no label ${label}`),
      ...values.map(([condition]) => `${owner}: ${name} has no sample with ${condition}`),
    ];
  });
}
