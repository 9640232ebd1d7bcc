import { zipSync } from 'fflate';
import { utf8 } from './byte-fixtures.ts';

/** Builds a ZIP archive of texts and bytes. */
export function buildZip(entries: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  const files = Object.entries(entries).map(([name, content]) => [
    name,
    typeof content === 'string' ? utf8(content) : content,
  ]);
  return zipSync(Object.fromEntries(files), { level: 6 });
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
