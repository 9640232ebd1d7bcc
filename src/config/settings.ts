import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '../core/app-error.ts';
import { formatCount } from '../core/format.ts';
import { isObject } from '../core/is-object.ts';
import { detectMachine, type MachineResources, machineDefaults, rerankedQueriesDefault } from './machine.ts';
import { findNearestName } from './nearest-name.ts';
import type { ProgramStart } from './program-command.ts';
import {
  findSetting,
  flagName,
  type SettingName,
  type Settings,
  settingNames,
  variableName,
} from './schema.ts';
import { findStoreConflicts } from './store-conflicts.ts';
import { describeAllowedValues, parseValue } from './value.ts';

/** Source of a setting's value. */
export type SettingOrigin = 'flag' | 'variable' | 'file' | 'default';

export interface LoadedSettings {
  /** Frozen; paths are absolute, URLs have no trailing slash. */
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingName, SettingOrigin>>;
  /** Absolute path of the settings file, or null. */
  readonly file: string | null;
}

export interface SettingSources {
  /**
   * Values of flags by setting name, as commander collects them; other names are ignored. `config` is the
   * path of the file.
   */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths. */
  readonly workingFolder: string;
  readonly machine: MachineResources;
}

/** Returns the sources of this process, with the given flags. */
export function readProcessSources(flags: Readonly<Record<string, unknown>>): SettingSources {
  return { flags, variables: process.env, workingFolder: process.cwd(), machine: detectMachine() };
}

/** Returns how this process was started. */
export function readProgramStart(): ProgramStart {
  return { script: process.argv[1] ?? '', workingFolder: process.cwd(), searchPath: process.env.PATH ?? '' };
}

/** Variables that tell whether and how a browser can be opened. */
export interface DesktopVariables {
  readonly BROWSER?: string;
  readonly DISPLAY?: string;
  readonly WAYLAND_DISPLAY?: string;
}

export function readDesktopVariables(): DesktopVariables {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY } = process.env;
  return {
    ...(BROWSER === undefined ? {} : { BROWSER }),
    ...(DISPLAY === undefined ? {} : { DISPLAY }),
    ...(WAYLAND_DISPLAY === undefined ? {} : { WAYLAND_DISPLAY }),
  };
}

/** Returns the variables that select the colors of a terminal; they are not settings of Quarry. */
export function readColorVariables(): { NO_COLOR?: string; FORCE_COLOR?: string; TERM?: string } {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  return {
    ...(NO_COLOR === undefined ? {} : { NO_COLOR }),
    ...(FORCE_COLOR === undefined ? {} : { FORCE_COLOR }),
    ...(TERM === undefined ? {} : { TERM }),
  };
}

/** Variables of the Hugging Face hub and of proxies; not settings of Quarry, because other programs share them. */
export interface HubVariables {
  /** Base URL of the hub. */
  readonly endpoint: string;
  readonly token: string | null;
  /** URL of the proxy for each scheme; empty: none. */
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that are reached directly, separated by commas. */
  readonly noProxy: string;
}

export function readHubVariables(): HubVariables {
  const { env } = process;
  return {
    endpoint: (env.HF_ENDPOINT || 'https://huggingface.co').replace(/\/+$/, ''),
    token: env.HF_TOKEN || null,
    httpProxy: env.http_proxy || env.HTTP_PROXY || '',
    httpsProxy: env.https_proxy || env.HTTPS_PROXY || '',
    noProxy: env.no_proxy || env.NO_PROXY || '',
  };
}

/** Whether `npm start` runs this process, which must then end with npm; other scripts may start a daemon. */
export function isStartedByNpm(): boolean {
  return process.env.npm_lifecycle_event === 'start';
}

/** Values that systemd passes to a service of type `notify`; not settings of Quarry. */
export interface ServiceManager {
  /** Unix socket for the states of the service. */
  readonly socket: string;
  /** systemd restarts the service if it sends no watchdog notification for this long; null without a watchdog. */
  readonly watchdogMs: number | null;
}

/** Returns null unless a service manager started this process and wants to know its state. */
export function readServiceManager(): ServiceManager | null {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = process.env;
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return null;
  const isWatched = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
  const watchdogMs = Number(WATCHDOG_USEC) / 1_000;
  return { socket: NOTIFY_SOCKET, watchdogMs: isWatched && watchdogMs > 0 ? watchdogMs : null };
}

/** Listening socket inherited from the process that started this one, such as systemd (`sd_listen_fds`). */
export interface InheritedSocket {
  readonly descriptor: number;
  /** Whether it comes from a server of this data directory, which ends when this process is ready. */
  readonly isFromPredecessor: boolean;
}

/** The first descriptor after standard input and output. */
const firstDescriptor = 3;
const predecessorName = 'predecessor';

/** Returns null if there is none. Errors: AppError `invalid` for several sockets. */
export function readInheritedSocket(): InheritedSocket | null {
  const { LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID } = process.env;
  if (LISTEN_FDS === undefined || LISTEN_FDS === '') return null;
  const isForThisProcess = LISTEN_PID === undefined || Number(LISTEN_PID) === process.pid;
  if (!isForThisProcess) return null;
  if (LISTEN_FDS !== '1')
    throw new AppError('invalid', `The service manager passed ${LISTEN_FDS} sockets; expected 1.`);
  return { descriptor: firstDescriptor, isFromPredecessor: LISTEN_FDNAMES === predecessorName };
}

/**
 * Returns the environment of a process that replaces this one and gets its listening socket as the first descriptor.
 * npm ends with this process, so that the new one does not belong to it.
 */
export function replacementEnvironment(): NodeJS.ProcessEnv {
  const { LISTEN_PID: _pid, npm_lifecycle_event: _script, ...variables } = process.env;
  return { ...variables, LISTEN_FDS: '1', LISTEN_FDNAMES: predecessorName };
}

/** Returns the environment of a command of this program: that of this process, with only the given settings. */
export function commandEnvironment(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(QUARRY_|LISTEN_|NOTIFY_)/.test(name));
  return { ...Object.fromEntries(own), ...settings };
}

interface RawSetting {
  readonly raw: unknown;
  readonly origin: SettingOrigin;
  /** Name of the setting in its source: --port, QUARRY_PORT, or "port" in a file. */
  readonly label: string;
}

/**
 * Loads all settings. Precedence: flags, environment variables, file, defaults. An empty variable counts as
 * absent. Errors: AppError `invalid` with one line per problem, each with the setting, its value and the
 * allowed values.
 */
export function loadSettings(sources: SettingSources): LoadedSettings {
  const problems: string[] = [];
  const file = settingsFilePath(sources);
  const fileValues = file === null ? {} : readSettingsFile(file);
  problems.push(...findUnknownVariables(sources.variables), ...findUnknownKeys(fileValues, file));

  const defaults: Partial<Record<SettingName, unknown>> = machineDefaults(sources.machine);
  const values: Partial<Record<SettingName, unknown>> = {};
  const origins: Partial<Record<SettingName, SettingOrigin>> = {};
  for (const name of settingNames) {
    const rawSetting = findRawSetting(name, sources, fileValues, file);
    values[name] = name in defaults ? defaults[name] : findSetting(name).default;
    origins[name] = rawSetting?.origin ?? 'default';
    if (rawSetting === null) continue;
    const parsed = parseValue(name, rawSetting.raw);
    if (parsed.ok) values[name] = parsed.value;
    else problems.push(invalidValueMessage(name, rawSetting));
  }
  if (origins.rerankedQueriesRunningMax === 'default') {
    values.rerankedQueriesRunningMax = rerankedQueriesDefault(values.rerankThreads as number);
  }
  const settings = values as unknown as Settings;
  const toPath = (path: string | null) => (path === null ? null : resolve(sources.workingFolder, path));
  if (problems.length === 0) problems.push(...findConflicts(settings));
  if (problems.length > 0) throw invalidSettingsError(problems);
  return {
    settings: Object.freeze({
      ...settings,
      data: resolve(sources.workingFolder, settings.data),
      plansFile: toPath(settings.plansFile),
      tlsCertificateFile: toPath(settings.tlsCertificateFile),
      tlsKeyFile: toPath(settings.tlsKeyFile),
    }),
    origins: origins as Record<SettingName, SettingOrigin>,
    file,
  };
}

function findRawSetting(
  name: SettingName,
  sources: SettingSources,
  fileValues: Readonly<Record<string, unknown>>,
  file: string | null,
): RawSetting | null {
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

function settingsFilePath(sources: SettingSources): string | null {
  const configPath = sources.flags.config ?? sources.variables.QUARRY_CONFIG;
  return typeof configPath === 'string' && configPath !== ''
    ? resolve(sources.workingFolder, configPath)
    : null;
}

function readSettingsFile(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw invalidSettingsError(
      [`The settings file ${path} cannot be read: ${(cause as Error).message}.`],
      cause,
    );
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw invalidSettingsError(
      [`The settings file ${path} is not JSON: ${(cause as Error).message}.`],
      cause,
    );
  }
  if (!isObject(content)) {
    throw invalidSettingsError([
      `The settings file ${path} must contain one JSON object, for example {"port": 8720}.`,
    ]);
  }
  return content as Record<string, unknown>;
}

function findUnknownVariables(variables: SettingSources['variables']): string[] {
  const known = [...settingNames.map(variableName), 'QUARRY_CONFIG'];
  return Object.keys(variables)
    .filter((name) => name.startsWith('QUARRY_') && !known.includes(name))
    .sort()
    .map((name) => unknownNameMessage(name, findNearestName(name, known)));
}

function findUnknownKeys(fileValues: Readonly<Record<string, unknown>>, file: string | null): string[] {
  return Object.keys(fileValues)
    .filter((key) => !(settingNames as string[]).includes(key))
    .sort()
    .map((key) => unknownNameMessage(`"${key}" in ${file}`, quote(findNearestName(key, settingNames))));
}

function quote(name: string | null): string | null {
  return name === null ? null : `"${name}"`;
}

function unknownNameMessage(label: string, nearest: string | null): string {
  const suggestion = nearest === null ? '' : ` Did you mean ${nearest}?`;
  return `${label} is not a setting.${suggestion} Run \`quarry config\` for a list of all settings.`;
}

function invalidValueMessage(name: SettingName, rawSetting: RawSetting): string {
  const secret = findSetting(name).secret === true;
  const displayedValue = secret
    ? `a value of ${formatCount(String(rawSetting.raw).length, 'character')} (not shown)`
    : (JSON.stringify(rawSetting.raw) ?? String(rawSetting.raw));
  return `${rawSetting.label} is ${displayedValue}; expected ${describeAllowedValues(name)}.`;
}

/** Returns conflicts between settings that are valid individually. */
function findConflicts(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.parseStallSeconds > settings.parseSecondsMax) {
    problems.push(
      `QUARRY_PARSE_STALL_SECONDS is ${settings.parseStallSeconds}; it must be at most QUARRY_PARSE_SECONDS_MAX, which is ${settings.parseSecondsMax}.`,
    );
  }
  if (settings.apiKey !== null && settings.apiKey === settings.adminKey) {
    problems.push(
      'QUARRY_ADMIN_KEY must differ from QUARRY_API_KEY (not shown), because the administrator key gives no access to documents.',
    );
  }
  if (settings.mailUrl?.startsWith('smtp') === true && settings.baseUrl === null) {
    problems.push(
      'QUARRY_MAIL_URL is set without QUARRY_BASE_URL; set it to the public URL of the server, for the links in emails.',
    );
  }
  if ((settings.tlsCertificateFile === null) !== (settings.tlsKeyFile === null)) {
    problems.push(
      'QUARRY_TLS_CERTIFICATE_FILE and QUARRY_TLS_KEY_FILE must be set together; set both or neither.',
    );
  }
  problems.push(...findPaymentConflicts(settings));
  for (const provider of ['google', 'github'] as const) {
    const [id, secret] = [`${provider}ClientId`, `${provider}ClientSecret`] as const;
    if ((settings[id] === null) !== (settings[secret] === null)) {
      problems.push(
        `${variableName(id)} and ${variableName(secret)} must be set together; set both or neither.`,
      );
    }
    if (settings[id] !== null && settings.baseUrl === null) {
      problems.push(
        `${variableName(id)} is set without QUARRY_BASE_URL; set it to the public URL of the server, to which the provider redirects users.`,
      );
    }
  }
  problems.push(...findMarketplaceConflicts(settings), ...findStoreConflicts(settings));
  for (const kind of ['embedding', 'rerank', 'chat'] as const) {
    if (settings[`${kind}Url`] !== null && settings[`${kind}Model`] === null) {
      problems.push(
        `${variableName(`${kind}Url`)} is set without ${variableName(`${kind}Model`)}; set it to the model name in the service.`,
      );
    }
  }
  for (const tier of ['free', 'starter', 'teams'] as const) {
    const fast = settings[`${tier}BytesPerMinuteFast`];
    const slow = settings[`${tier}BytesPerMinuteSlow`];
    if (slow < fast) {
      problems.push(
        `${variableName(`${tier}BytesPerMinuteSlow`)} is ${slow}; it must be at least ${variableName(`${tier}BytesPerMinuteFast`)}, which is ${fast}.`,
      );
    }
  }
  return problems;
}

function findPaymentConflicts(settings: Settings): string[] {
  const { stripeSecretKey, stripeWebhookSecret, stripeApiBase, baseUrl } = settings;
  const problems: string[] = [];
  if (stripeSecretKey === null && stripeWebhookSecret !== null) {
    problems.push(
      'QUARRY_STRIPE_WEBHOOK_SECRET is set without QUARRY_STRIPE_SECRET_KEY; set both or neither.',
    );
  }
  if (/^[rs]k_live_/.test(stripeSecretKey ?? '') && !stripeApiBase.startsWith('https:')) {
    problems.push(
      `QUARRY_STRIPE_API_BASE is ${stripeApiBase}; a live key in QUARRY_STRIPE_SECRET_KEY requires an https:// URL.`,
    );
  }
  if (/^[rs]k_live_/.test(stripeSecretKey ?? '') && baseUrl === null) {
    problems.push(
      'QUARRY_STRIPE_SECRET_KEY is a live key without QUARRY_BASE_URL; set it to the public URL of the server, to which Stripe redirects users.',
    );
  }
  return problems;
}

function findMarketplaceConflicts(settings: Settings): string[] {
  const pairs = [
    ['awsAccessKeyId', 'awsSecretAccessKey'],
    ['backupS3AccessKeyId', 'backupS3SecretAccessKey'],
    ['vercelClientId', 'vercelClientSecret'],
  ] as const;
  const incompletePairs = pairs.filter(
    ([first, second]) => (settings[first] === null) !== (settings[second] === null),
  );
  const isOn = settings.awsMarketplace || settings.vercelClientId !== null;
  return [
    ...incompletePairs.map(
      ([first, second]) =>
        `${variableName(first)} and ${variableName(second)} must be set together; set both or neither.`,
    ),
    ...(isOn && settings.baseUrl === null
      ? ['A marketplace is configured without QUARRY_BASE_URL; set it to the public URL of the server.']
      : []),
  ];
}

function invalidSettingsError(problems: readonly string[], cause?: unknown): AppError {
  return new AppError('invalid', problems.join('\n'), {
    issues: problems.map((msg) => ({ loc: ['settings'], msg, type: 'value_error' })),
    ...(cause === undefined ? {} : { cause }),
  });
}
