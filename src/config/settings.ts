import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '../base/app-error.ts';
import { counted } from '../base/counted.ts';
import { type Machine, machineDefaults, rerankedQueriesFor, thisMachine } from './machine.ts';
import { nearestName } from './nearest.ts';
import {
  flagName,
  type SettingName,
  type Settings,
  settingNames,
  settingOf,
  variableName,
} from './schema.ts';
import { allowedValues, readValue } from './value.ts';

/** Where the value of a setting came from. */
export type SettingOrigin = 'flag' | 'variable' | 'file' | 'default';

export interface LoadedSettings {
  /** Frozen; paths are absolute, addresses have no slash at the end. */
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingName, SettingOrigin>>;
  /** Absolute path of the settings file, when there is one. */
  readonly file: string | null;
}

export interface SettingSources {
  /** Values of flags by setting name, as commander collects them; other names are ignored. `config` names the file. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly workingFolder: string;
  readonly machine: Machine;
}

/** The real sources of this process together with the given flags. */
export function processSources(flags: Readonly<Record<string, unknown>>): SettingSources {
  return { flags, variables: process.env, workingFolder: process.cwd(), machine: thisMachine() };
}

interface Given {
  readonly raw: unknown;
  readonly origin: SettingOrigin;
  /** The name the operator used: --port, QUARRY_PORT, or "port" in a file. */
  readonly label: string;
}

/**
 * Flags win over variables, variables over the file, the file over defaults. An empty variable counts as absent.
 * Throws an AppError `invalid` with one line per fault: each names the setting, its value and what is allowed.
 */
export function loadSettings(sources: SettingSources): LoadedSettings {
  const problems: string[] = [];
  const file = filePath(sources);
  const fileValues = file === null ? {} : readSettingsFile(file);
  problems.push(...unknownVariables(sources.variables), ...unknownKeys(fileValues, file));

  const defaults: Partial<Record<SettingName, unknown>> = machineDefaults(sources.machine);
  const values: Partial<Record<SettingName, unknown>> = {};
  const origins: Partial<Record<SettingName, SettingOrigin>> = {};
  for (const name of settingNames) {
    const given = findGiven(name, sources, fileValues, file);
    values[name] = name in defaults ? defaults[name] : settingOf(name).default;
    origins[name] = given?.origin ?? 'default';
    if (given === null) continue;
    const reading = readValue(name, given.raw);
    if (reading.ok) values[name] = reading.value;
    else problems.push(wrongValue(name, given));
  }
  if (origins.rerankedQueriesRunningMax === 'default') {
    values.rerankedQueriesRunningMax = rerankedQueriesFor(values.rerankThreads as number);
  }
  const settings = values as unknown as Settings;
  if (problems.length === 0) problems.push(...contradictions(settings));
  if (problems.length > 0) throw refusal(problems);
  return {
    settings: Object.freeze({
      ...settings,
      data: resolve(sources.workingFolder, settings.data),
      plansFile: settings.plansFile === null ? null : resolve(sources.workingFolder, settings.plansFile),
    }),
    origins: origins as Record<SettingName, SettingOrigin>,
    file,
  };
}

function findGiven(
  name: SettingName,
  sources: SettingSources,
  fileValues: Readonly<Record<string, unknown>>,
  file: string | null,
): Given | null {
  const flag = sources.flags[name];
  if (flag !== undefined) return { raw: flag, origin: 'flag', label: flagName(name) };
  const variable = sources.variables[variableName(name)];
  if (variable !== undefined && variable !== '') {
    return { raw: variable, origin: 'variable', label: variableName(name) };
  }
  if (Object.hasOwn(fileValues, name)) {
    return { raw: fileValues[name], origin: 'file', label: `"${name}" in ${file}` };
  }
  return null;
}

function filePath(sources: SettingSources): string | null {
  const given = sources.flags.config ?? sources.variables.QUARRY_CONFIG;
  return typeof given === 'string' && given !== '' ? resolve(sources.workingFolder, given) : null;
}

function readSettingsFile(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw refusal([`The settings file ${path} cannot be read: ${(cause as Error).message}.`], cause);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw refusal([`The settings file ${path} is not JSON: ${(cause as Error).message}.`], cause);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw refusal([`The settings file ${path} must hold one JSON object, for example {"port": 8720}.`]);
  }
  return content as Record<string, unknown>;
}

function unknownVariables(variables: SettingSources['variables']): string[] {
  const known = [...settingNames.map(variableName), 'QUARRY_CONFIG'];
  return Object.keys(variables)
    .filter((name) => name.startsWith('QUARRY_') && !known.includes(name))
    .sort()
    .map((name) => unknownName(name, nearestName(name, known)));
}

function unknownKeys(fileValues: Readonly<Record<string, unknown>>, file: string | null): string[] {
  return Object.keys(fileValues)
    .filter((key) => !(settingNames as string[]).includes(key))
    .sort()
    .map((key) => unknownName(`"${key}" in ${file}`, quoted(nearestName(key, settingNames))));
}

function quoted(name: string | null): string | null {
  return name === null ? null : `"${name}"`;
}

function unknownName(given: string, nearest: string | null): string {
  const question = nearest === null ? '' : ` Did you mean ${nearest}?`;
  return `${given} is not a setting.${question} \`quarry config\` lists them all.`;
}

function wrongValue(name: SettingName, given: Given): string {
  const secret = settingOf(name).secret === true;
  const shown = secret
    ? `a value of ${counted(String(given.raw).length, 'character')} (not shown)`
    : (JSON.stringify(given.raw) ?? String(given.raw));
  return `${given.label} is ${shown}; allowed is ${allowedValues(name)}.`;
}

/** Settings that are each fine but do not go together. */
function contradictions(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.parseStallSeconds > settings.parseSecondsMax) {
    problems.push(
      `QUARRY_PARSE_STALL_SECONDS is ${settings.parseStallSeconds}; allowed is at most QUARRY_PARSE_SECONDS_MAX, which is ${settings.parseSecondsMax}.`,
    );
  }
  if (settings.apiKey !== null && settings.apiKey === settings.adminKey) {
    problems.push(
      'QUARRY_ADMIN_KEY is the same as QUARRY_API_KEY (not shown); allowed is another one, because the administrator key opens no documents.',
    );
  }
  if (settings.mailUrl?.startsWith('smtp') === true && settings.baseUrl === null) {
    problems.push(
      'QUARRY_MAIL_URL is set without QUARRY_BASE_URL; set it to the address under which people reach the server, for the links in mails.',
    );
  }
  problems.push(...paymentContradictions(settings));
  for (const provider of ['google', 'github'] as const) {
    const [id, secret] = [`${provider}ClientId`, `${provider}ClientSecret`] as const;
    if ((settings[id] === null) !== (settings[secret] === null)) {
      problems.push(`${variableName(id)} and ${variableName(secret)} belong together; set both or neither.`);
    }
    if (settings[id] !== null && settings.baseUrl === null) {
      problems.push(
        `${variableName(id)} is set without QUARRY_BASE_URL; set it to the address that the provider sends people back to.`,
      );
    }
  }
  problems.push(...marketplaceContradictions(settings));
  for (const kind of ['embedding', 'rerank'] as const) {
    if (settings[`${kind}Url`] !== null && settings[`${kind}Model`] === null) {
      problems.push(
        `${variableName(`${kind}Url`)} is set without ${variableName(`${kind}Model`)}; set it to the name the service knows the model by.`,
      );
    }
  }
  for (const tier of ['free', 'starter', 'teams'] as const) {
    const fast = settings[`${tier}BytesPerMinuteFast`];
    const slow = settings[`${tier}BytesPerMinuteSlow`];
    if (slow < fast) {
      problems.push(
        `${variableName(`${tier}BytesPerMinuteSlow`)} is ${slow}; allowed is at least ${variableName(`${tier}BytesPerMinuteFast`)}, which is ${fast}.`,
      );
    }
  }
  return problems;
}

function paymentContradictions(settings: Settings): string[] {
  const { stripeSecretKey, stripeWebhookSecret, stripeApiBase, baseUrl } = settings;
  const problems: string[] = [];
  if (stripeSecretKey === null && stripeWebhookSecret !== null) {
    problems.push(
      'QUARRY_STRIPE_WEBHOOK_SECRET is set without QUARRY_STRIPE_SECRET_KEY; set both or neither.',
    );
  }
  if (/^[rs]k_live_/.test(stripeSecretKey ?? '') && !stripeApiBase.startsWith('https:')) {
    problems.push(
      `QUARRY_STRIPE_API_BASE is ${stripeApiBase}; allowed is an https:// address, because QUARRY_STRIPE_SECRET_KEY is a live key.`,
    );
  }
  if (/^[rs]k_live_/.test(stripeSecretKey ?? '') && baseUrl === null) {
    problems.push(
      'QUARRY_STRIPE_SECRET_KEY is a live key without QUARRY_BASE_URL; set it to the address that Stripe sends people back to.',
    );
  }
  return problems;
}

function marketplaceContradictions(settings: Settings): string[] {
  const pairs = [
    ['awsAccessKeyId', 'awsSecretAccessKey'],
    ['vercelClientId', 'vercelClientSecret'],
  ] as const;
  const halves = pairs.filter(([one, other]) => (settings[one] === null) !== (settings[other] === null));
  const isOn = settings.awsMarketplace || settings.vercelClientId !== null;
  return [
    ...halves.map(
      ([one, other]) =>
        `${variableName(one)} and ${variableName(other)} belong together; set both or neither.`,
    ),
    ...(isOn && settings.baseUrl === null
      ? ['A marketplace is set up without QUARRY_BASE_URL; set it to the address that buyers are sent to.']
      : []),
  ];
}

function refusal(problems: readonly string[], cause?: unknown): AppError {
  return new AppError('invalid', problems.join('\n'), {
    issues: problems.map((msg) => ({ loc: ['settings'], msg, type: 'value_error' })),
    ...(cause === undefined ? {} : { cause }),
  });
}
