const levelNames: Readonly<Record<number, string>> = { 20: 'Debug', 30: 'Info', 40: 'Warning', 50: 'Error' };

/**
 * Formats a JSON log line for a terminal: `Warning: shard snapshot damaged, rebuilding (shard: 3)`. Control
 * characters become spaces, because values can come from documents.
 */
export function formatLogLine(line: string): string {
  const { level, time: _, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const suffix = details.length === 0 ? '' : ` (${details.join(', ')})`;
  return `${levelNames[Number(level)]}: ${String(msg)}${suffix}`.replace(/\p{Control}+/gu, ' ');
}
