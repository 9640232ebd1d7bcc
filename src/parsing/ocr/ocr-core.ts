import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageFolders } from '../../core/root.ts';

/** Builds of Tesseract for WebAssembly; tesseract.js loads the one that suits the processor. */
const builds = ['tesseract-core', 'tesseract-core-simd', 'tesseract-core-relaxedsimd'];
const coreFiles = builds.flatMap((build) => [`${build}.js`, `${build}.wasm`]);

/**
 * Returns the files of the package tesseract.js-core that are not installed. tesseract.js loads them only with
 * the first image, so a damaged installation would otherwise be noticed in the warnings of a document.
 */
export function listMissingCoreFiles(folders: readonly string[] = packageFolders): string[] {
  const engine = folders.map((folder) => join(folder, 'tesseract.js', 'package.json')).find(existsSync);
  if (engine === undefined) return coreFiles;
  const { resolve } = createRequire(engine);
  return coreFiles.filter((file) => {
    try {
      return !existsSync(resolve(`tesseract.js-core/${file}`));
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return true;
      throw error;
    }
  });
}
