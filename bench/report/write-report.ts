import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { htmlReport, type Section } from './html.ts';
import { markdownReport } from './markdown.ts';
import { svgCharts } from './svg.ts';

/** Writes the report of one case as JSON, Markdown, SVG and HTML into `folder`. Resolves with the paths. */
export async function writeReport(section: Section, folder: string): Promise<string[]> {
  const { report } = section;
  const json = { [`${report.case}.json`]: `${JSON.stringify(report, null, 1)}\n` };
  return [...(await writeFiles(folder, json)), ...(await renderReport(section, folder))];
}

/** Writes the files that are derived from the JSON report. */
export async function renderReport(section: Section, folder: string): Promise<string[]> {
  const { report, comparison } = section;
  const file = (ending: string) => `${report.case}.${ending}`;
  return writeFiles(folder, {
    [file('md')]: markdownReport(report, file('svg'), comparison),
    ...(report.charts.length === 0 ? {} : { [file('svg')]: svgCharts(report.title, report.charts) }),
    [file('html')]: htmlReport(report.title, [section]),
  });
}

/** Writes the reports of several cases as one page. */
export async function writeAll(sections: readonly Section[], folder: string): Promise<string[]> {
  return writeFiles(folder, { 'bench.html': htmlReport('Quarry bench', sections) });
}

async function writeFiles(folder: string, contents: Readonly<Record<string, string>>): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  return Object.keys(contents).map((name) => join(folder, name));
}
