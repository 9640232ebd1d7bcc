import type { CommandSpec, OptionSpec } from '../../src/cli/command.ts';
import { exitCodeMeanings } from '../../src/cli/exit-codes.ts';
import { commandGroups, commands } from '../../src/cli/program.ts';
import { settingSections } from '../../src/config/describe.ts';
import { findSetting, type SettingName, settingNames, variableName } from '../../src/config/schema.ts';
import { describeAllowedValues } from '../../src/config/value.ts';
import { describeCredential, groupOperations, publicPath, titleOf } from '../../src/http/docs/operations.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import type { Format } from '../../src/parsing/formats/format.ts';
import { formats } from '../../src/parsing/formats/registry.ts';
import type { PageImageAvailability } from '../../src/parsing/process/parse-task.ts';

const generated =
  '<!-- Generated from the code. Run `DOCS_PAGES=write node dist/test/docs/reference-pages.test.js` to update it. -->';

/** docs/reference/configuration.md */
export function configurationPage(): string {
  const lines = [
    '# Configuration',
    '',
    generated,
    '',
    'Flags override `QUARRY_*` variables, variables override a JSON file (`QUARRY_CONFIG` or `--config`), and the file',
    'overrides defaults. A setting `uploadBytesMax` is the variable `QUARRY_UPLOAD_BYTES_MAX`, the flag',
    '`--upload-bytes-max` and the key `uploadBytesMax` of the file. Sizes accept units: `200MB`, `200MiB`.',
    '`quarry config` shows the values in force.',
  ];
  for (const name of settingNames) {
    const section = settingSections[name];
    if (section !== undefined)
      lines.push('', `## ${section}`, '', '| Variable | Default | Allowed | Meaning |', '|---|---|---|---|');
    const { meaning } = findSetting(name);
    lines.push(row(`\`${variableName(name)}\``, defaultOf(name), describeAllowedValues(name), meaning));
  }
  return `${lines.join('\n')}\n`;
}

/** docs/reference/cli.md */
export function cliPage(): string {
  const lines = ['# Command line', '', generated, ''];
  lines.push(
    'Commands connect to the server at `--url` (`QUARRY_URL`) with the API key in `--key` (`QUARRY_API_KEY`).',
    'Administration uses `--admin-key` (`QUARRY_ADMIN_KEY`), and `--organization` (`QUARRY_ORGANIZATION`) selects the organization.',
    '`quarry serve` and `quarry config` accept every setting of [Configuration](configuration.md) as a flag.',
    '',
    'On a terminal, control characters in results are shown as escapes such as `\\u001b`, so that a document cannot change the',
    'screen. Files and pipes receive results unchanged; messages on standard error are always escaped.',
    '',
    'Search results are colored on a terminal. `NO_COLOR=1` turns colors off, `FORCE_COLOR=1` turns them on for pipes.',
    'Headings, lists, tables and code of results are rendered; a long result starts at its best sentence. Tables are wrapped to',
    'the width of the terminal, and not in files and pipes.',
    '',
    '| Exit code | Meaning |',
    '|---|---|',
    ...exitCodeMeanings.map(([code, meaning]) => row(String(code), meaning)),
  );
  let group = '';
  for (const command of commands) {
    const first = command.usage.split(' ')[0]!;
    const summary = commandGroups[first];
    if (summary !== undefined && first !== group)
      lines.push('', `## quarry ${first}`, '', `${capital(summary)}.`);
    group = summary === undefined ? '' : first;
    lines.push(...commandLines(command, group === '' ? '##' : '###'));
  }
  return `${lines.join('\n')}\n`;
}

const detections: Readonly<Record<Format['container'], string>> = {
  none: 'content of the file',
  office: 'main part of an Office package',
  opendocument: 'type of an OpenDocument package',
  zip: 'parts of a ZIP archive',
  compound: 'streams of an OLE compound file',
  markup: 'start of the text',
  text: 'the text',
};
const imageAvailability: Readonly<Record<PageImageAvailability, string>> = {
  always: 'yes',
  'with-office': 'with LibreOffice',
  never: 'no',
};

function describeDetection(format: Format): string {
  if (format.container !== 'text') return detections[format.container];
  if (format.kind === 'code') return 'extension';
  return format.isDecidedByExtension ? 'extension, else the text' : detections.text;
}

/** docs/reference/formats.md */
export function formatsPage(): string {
  const lines = [
    '# Formats',
    '',
    generated,
    '',
    'The first format that recognizes a file wins. A text with an extension of a kind marked *extension* has that kind.',
    'The media type of a text that is not UTF-8 includes its charset. [File formats and OCR](../guides/formats-and-ocr.md)',
    'describes how each format is read.',
    '',
    '| Kind | Extensions | Media type | Recognized by | Pages | Page images |',
    '|---|---|---|---|---|---|',
    ...formats.map((format) => {
      const { kind, extensions, mediaType, hasRows, pageImages } = format;
      return row(
        ...[kind, extensions.join(' '), `\`${mediaType}\``, describeDetection(format)],
        ...[hasRows ? 'groups of rows' : 'in order', imageAvailability[pageImages?.available ?? 'never']],
      );
    }),
  ];
  return `${lines.join('\n')}\n`;
}

/** docs/reference/http-api.md: the tables between two comments are generated, the other text is written by hand. */
export function httpApiPage(current: string): string {
  const end = '<!-- End of the generated tables. -->';
  const [head, rest = ''] = current.split(`${generated}\n`);
  const [, tail] = rest.split(end);
  if (head === undefined || tail === undefined) throw new Error(`http-api.md needs ${generated} and ${end}`);
  const tables = groupOperations(routes).flatMap((group) => [
    ...['', `### ${titleOf(group.tag)}`, '', '| Operation | Credential | Effect |', '|---|---|---|'],
    ...group.routes.map((route) =>
      row(`\`${route.method} ${publicPath(route)}\``, describeAccess(route), route.summary),
    ),
  ]);
  return `${head}${generated}\n${tables.join('\n')}\n\n${end}${tail}`;
}

function describeAccess(route: Route): string {
  const credential = describeCredential(route);
  switch (route.scope) {
    case 'collection':
      return `${credential}, without a filter`;
    case 'organization':
      return `${credential}, without restrictions`;
    case undefined:
      return credential;
  }
}

function commandLines(command: CommandSpec, heading: string): string[] {
  const name = command.usage.replace(/ [<[].*$/, '');
  const options = command.options ?? [];
  return [
    ...['', `${heading} quarry ${name}`, '', `${capital(command.summary)}.`, ''],
    ...['```text', `quarry ${command.usage}`, '```'],
    ...(options.length === 0 ? [] : ['', '| Option | Meaning |', '|---|---|', ...options.map(optionRow)]),
    ...['', 'Examples:', '', '```text', ...command.examples, '```'],
  ];
}

function optionRow({ flags, meaning, default: preset, choices }: OptionSpec): string {
  const allowed =
    choices === undefined ? '' : ` One of ${choices.map((choice) => `\`${choice}\``).join(', ')}.`;
  const normally = preset === undefined || preset === '' ? '' : ` Default: \`${preset}\`.`;
  return row(`\`${flags}\``, `${capital(meaning)}.${allowed}${normally}`);
}

function defaultOf(name: SettingName): string {
  const { defaultMeaning, default: preset } = findSetting(name);
  return defaultMeaning ?? `\`${String(preset)}\``;
}

function row(...cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
