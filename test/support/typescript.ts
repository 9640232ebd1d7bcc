import { createRequire } from 'node:module';
import type ts from 'typescript';

/**
 * The TypeScript compiler, loaded by `require`: `import` first searches its 9 MB of text for exported names, which takes
 * longer than running it.
 */
export const typescript: typeof ts = createRequire(import.meta.url)('typescript');
