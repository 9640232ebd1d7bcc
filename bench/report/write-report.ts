import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from './findings.ts';
import { markdownReport } from './markdown.ts';
import { svgCharts } from './svg.ts';

/** Writes the report as JSON, Markdown and SVG into `folder`; resolves with the three paths. */
export async function writeReport(report: Report, folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const file = (ending: string) => `${report.case}.${ending}`;
  const contents = {
    [file('json')]: `${JSON.stringify(report, null, 2)}\n`,
    [file('md')]: markdownReport(report, file('svg')),
    [file('svg')]: svgCharts(report.title, report.charts),
  };
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  return Object.keys(contents).map((name) => join(folder, name));
}
