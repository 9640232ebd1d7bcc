/** Description of a setting, common to all kinds. */
export interface SettingOptions {
  /** One sentence without a full stop: the effect of the setting. */
  readonly meaning: string;
  readonly unit?: string;
  /** Allowed values in words; set if kind and bounds do not describe them. */
  readonly allowed?: string;
  /** Whether the value is never printed. */
  readonly secret?: boolean;
  /** Derivation of a default that depends on the machine. */
  readonly defaultMeaning?: string;
}

interface TextSettingOptions extends SettingOptions {
  /** Pattern that the whole value must match; absent: any non-empty text. */
  readonly pattern?: RegExp;
}

export interface IntegerSetting extends SettingOptions {
  readonly kind: 'whole';
  readonly minimum: number;
  readonly maximum: number;
  /** Null if the default depends on the machine; see `machineDefaults`. */
  readonly default: number | null;
}
export interface BooleanSetting extends SettingOptions {
  readonly kind: 'switch';
  readonly default: boolean;
}
export interface EnumSetting<T extends string = string> extends SettingOptions {
  readonly kind: 'choice';
  readonly values: readonly T[];
  readonly default: T;
}
export interface TextSetting extends TextSettingOptions {
  readonly kind: 'text';
  readonly default: string;
}
export interface OptionalSetting extends TextSettingOptions {
  readonly kind: 'optional';
  readonly default: null;
}

/**
 * One setting. The five kinds are hand-written instead of using a validation library: the command line reads
 * them at every start, and a library takes three times as long to load as everything else it needs.
 */
export type Setting = IntegerSetting | BooleanSetting | EnumSetting | TextSetting | OptionalSetting;

export type SettingValue<S extends Setting> = S extends IntegerSetting
  ? number
  : S extends BooleanSetting
    ? boolean
    : S extends EnumSetting<infer T>
      ? T
      : S extends OptionalSetting
        ? string | null
        : string;

export function integerSetting(
  minimum: number,
  maximum: number,
  defaultValue: number | null,
  options: SettingOptions,
): IntegerSetting {
  return { kind: 'whole', minimum, maximum, default: defaultValue, ...options };
}

/** An integer in seconds. */
export function secondsSetting(
  minimum: number,
  maximum: number,
  defaultValue: number,
  options: SettingOptions,
): IntegerSetting {
  return integerSetting(minimum, maximum, defaultValue, { unit: 'seconds', ...options });
}

export function booleanSetting(defaultValue: boolean, options: SettingOptions): BooleanSetting {
  return { kind: 'switch', default: defaultValue, ...options };
}

export function enumSetting<const T extends string>(
  values: readonly T[],
  defaultValue: NoInfer<T>,
  options: SettingOptions,
): EnumSetting<T> {
  return { kind: 'choice', values, default: defaultValue, ...options };
}

export function textSetting(defaultValue: string, options: TextSettingOptions): TextSetting {
  return { kind: 'text', default: defaultValue, ...options };
}

export function optionalSetting(options: TextSettingOptions): OptionalSetting {
  return { kind: 'optional', default: null, ...options };
}

/** Whether a setting accepts this value. */
export function isAllowedValue(setting: Setting, value: unknown): boolean {
  switch (setting.kind) {
    case 'whole':
      return Number.isInteger(value) && isInRange(value as number, setting);
    case 'switch':
      return typeof value === 'boolean';
    case 'choice':
      return setting.values.includes(value as string);
    case 'text':
      return isMatchingText(value, setting.pattern);
    case 'optional':
      return value === null || isMatchingText(value, setting.pattern);
  }
}

function isInRange(value: number, { minimum, maximum }: IntegerSetting): boolean {
  return value >= minimum && value <= maximum;
}

function isMatchingText(value: unknown, pattern = /./s): boolean {
  return typeof value === 'string' && pattern.test(value);
}
