import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeSettings, type SettingDescription } from '../config/describe.ts';
import { projectRoot } from '../core/root.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { wrapText } from './text-layout.ts';

/** Commands that need no running server: starting one, showing settings, printing the version. */

export const serveCommand: CommandSpec = {
  usage: 'serve',
  settings: 'server',
  summary: 'run the server in the foreground until Ctrl-C, SIGTERM or SIGHUP',
  examples: [
    'quarry serve',
    'quarry serve --port 9000 --data /srv/quarry',
    'QUARRY_HOST=0.0.0.0 quarry serve',
  ],
  async run(context) {
    const { main } = await import('../main.ts');
    await main(context.loaded);
    return exitCodes.done;
  },
};

export const configCommand: CommandSpec = {
  usage: 'config',
  settings: 'server',
  summary: 'show all settings with value, source and description',
  options: [jsonOption],
  examples: ['quarry config', 'QUARRY_PORT=9000 quarry config --json'],
  run: showSettings,
};

export const versionCommand: CommandSpec = {
  usage: 'version',
  settings: 'none',
  summary: 'show the version of Quarry and of Node.js',
  options: [jsonOption],
  examples: ['quarry version'],
  run: showVersion,
};

async function showSettings(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const settings = describeSettings(context.loaded);
  if (options.json === true) {
    context.terminal.out(JSON.stringify({ file: context.loaded.file, settings }));
    return exitCodes.done;
  }
  context.terminal.out(`Settings file: ${context.loaded.file ?? 'none (set QUARRY_CONFIG or --config)'}`);
  for (const setting of settings)
    settingLines(setting, context.terminal.columns).forEach(context.terminal.out);
  return exitCodes.done;
}

function settingLines(setting: SettingDescription, columns: number): string[] {
  const value = setting.value === null ? 'not set' : String(setting.value);
  const unit = setting.unit === null || setting.value === null ? '' : ` ${setting.unit}`;
  const defaultText =
    setting.source === 'default' || setting.default === undefined
      ? ''
      : ` Default: ${setting.default ?? 'not set'}.`;
  const fallback =
    setting.value === null && setting.default !== null ? ` (effective: ${setting.default})` : '';
  const meaning = `${setting.meaning}. Allowed: ${setting.allowed}.${defaultText}`;
  return [
    '',
    `${setting.variable} = ${value}${unit}${fallback}  [${setting.source}]`,
    ...wrapText(meaning, columns - 4).map((line) => `    ${line}`),
  ];
}

async function showVersion(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const versions = { quarry: quarryVersion(), node: process.versions.node };
  context.terminal.out(options.json === true ? JSON.stringify(versions) : versionLine());
  return exitCodes.done;
}

export function versionLine(): string {
  return `quarry ${quarryVersion()}, node ${process.versions.node}`;
}

export function quarryVersion(): string {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
