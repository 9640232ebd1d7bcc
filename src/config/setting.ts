/** What is said of every setting beside what its value may be. */
export interface SettingNotes {
  /** One sentence without a full stop: what the setting does. */
  readonly meaning: string;
  readonly unit?: string;
  /** What is allowed, in words, where kind and bounds do not say it. */
  readonly allowed?: string;
  /** The value is never printed. */
  readonly secret?: boolean;
  /** How a default that depends on the machine comes about. */
  readonly defaultMeaning?: string;
}

interface TextNotes extends SettingNotes {
  /** What a value must match as a whole; without one it may be any text that is not empty. */
  readonly pattern?: RegExp;
}

export interface WholeSetting extends SettingNotes {
  readonly kind: 'whole';
  readonly minimum: number;
  readonly maximum: number;
  /** Null where the default comes from the machine, see `machineDefaults`. */
  readonly default: number | null;
}
export interface SwitchSetting extends SettingNotes {
  readonly kind: 'switch';
  readonly default: boolean;
}
export interface ChoiceSetting<T extends string = string> extends SettingNotes {
  readonly kind: 'choice';
  readonly values: readonly T[];
  readonly default: T;
}
export interface TextSetting extends TextNotes {
  readonly kind: 'text';
  readonly default: string;
}
export interface OptionalSetting extends TextNotes {
  readonly kind: 'optional';
  readonly default: null;
}

/**
 * One setting. Five kinds are enough, and the command line reads them each time it starts: a validation library would
 * take three times as long to load as everything else that it needs.
 */
export type Setting = WholeSetting | SwitchSetting | ChoiceSetting | TextSetting | OptionalSetting;

export type ValueOf<S extends Setting> = S extends WholeSetting
  ? number
  : S extends SwitchSetting
    ? boolean
    : S extends ChoiceSetting<infer T>
      ? T
      : S extends OptionalSetting
        ? string | null
        : string;

export function whole(
  minimum: number,
  maximum: number,
  preset: number | null,
  notes: SettingNotes,
): WholeSetting {
  return { kind: 'whole', minimum, maximum, default: preset, ...notes };
}

export function switched(preset: boolean, notes: SettingNotes): SwitchSetting {
  return { kind: 'switch', default: preset, ...notes };
}

export function choice<const T extends string>(
  values: readonly T[],
  preset: NoInfer<T>,
  notes: SettingNotes,
): ChoiceSetting<T> {
  return { kind: 'choice', values, default: preset, ...notes };
}

export function text(preset: string, notes: TextNotes): TextSetting {
  return { kind: 'text', default: preset, ...notes };
}

export function optional(notes: TextNotes): OptionalSetting {
  return { kind: 'optional', default: null, ...notes };
}

/** Whether a setting may have this value. */
export function allows(setting: Setting, value: unknown): boolean {
  switch (setting.kind) {
    case 'whole':
      return Number.isInteger(value) && isWithin(value as number, setting);
    case 'switch':
      return typeof value === 'boolean';
    case 'choice':
      return setting.values.includes(value as string);
    case 'text':
      return isText(value, setting.pattern);
    case 'optional':
      return value === null || isText(value, setting.pattern);
  }
}

function isWithin(value: number, { minimum, maximum }: WholeSetting): boolean {
  return value >= minimum && value <= maximum;
}

function isText(value: unknown, pattern = /./s): boolean {
  return typeof value === 'string' && pattern.test(value);
}
