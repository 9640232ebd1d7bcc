import { integerSetting, optionalSetting, type Setting } from '../setting.ts';

/** Traces in the format of OpenTelemetry. */
export const tracingSettings = {
  traceEndpoint: optionalSetting({
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'URL of a collector to which traces are sent (OTLP over HTTP, in JSON)',
    allowed: 'an http:// or https:// URL, for example http://127.0.0.1:4318/v1/traces',
    defaultMeaning: 'none: no traces are recorded',
  }),
  traceSamplesPerThousand: integerSetting(0, 1_000, 10, {
    meaning:
      'Number of requests and documents per thousand that are traced; for a request with a traceparent header, the header decides',
    unit: 'per thousand',
  }),
  traceHeaders: optionalSetting({
    pattern: /^[A-Za-z0-9-]+=[^,\r\n]+(,[A-Za-z0-9-]+=[^,\r\n]+)*$/,
    meaning: 'Headers for the collector, such as its key',
    allowed: 'name=value, separated by commas',
    secret: true,
    defaultMeaning: 'none',
  }),
} satisfies Record<string, Setting>;
