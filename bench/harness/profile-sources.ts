import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { CpuProfile, ProfileNode } from './cpu-profile.ts';

/** Source map of a compiled file; null if it has none. */
type ReadSourceMap = (url: string) => SourceMap | null;

/**
 * Replaces the URL of each function by that of its TypeScript source: the modules of the server are bundled into
 * few files. Functions of files without a source map keep their URL.
 */
export function resolveSources(profile: CpuProfile, readMap: ReadSourceMap = readSourceMap): CpuProfile {
  const maps = new Map<string, SourceMap | null>();
  const mapOf = (url: string) => {
    if (!maps.has(url)) maps.set(url, readMap(url));
    return maps.get(url) ?? null;
  };
  const resolve = (node: ProfileNode): ProfileNode => {
    const { url, lineNumber, columnNumber } = node.callFrame;
    if (!url.startsWith('file:')) return node;
    const entry = mapOf(url)?.findEntry(lineNumber, columnNumber);
    if (entry === undefined || !('originalSource' in entry)) return node;
    const source = new URL(entry.originalSource, url).href;
    return { ...node, callFrame: { ...node.callFrame, url: source } };
  };
  return { ...profile, nodes: profile.nodes.map(resolve) };
}

/** Reads the map beside a compiled file. */
function readSourceMap(url: string): SourceMap | null {
  const path = `${fileURLToPath(url)}.map`;
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null;
}
