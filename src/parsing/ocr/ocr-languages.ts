import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { projectRoot } from '../../core/root.ts';

/** Data of one language for the embedded OCR engine. */
export interface OcrLanguageData {
  readonly language: string;
  readonly file: string;
}

/** The package that brings the data of a language. */
export function getLanguagePackage(language: string): string {
  return `@tesseract.js-data/${language}`;
}

/**
 * The data of a language: a file of the operator's own folder, else of an installed npm package, there the variant that is
 * as good as the largest and a quarter of its size. Null: there is none.
 */
export function findLanguageData(language: string, dataFolder: string | null): OcrLanguageData | null {
  if (!/^\w+$/.test(language)) return null; // names of scripts hold a slash; only the binary has those
  const packageFolder = join(projectRoot, 'node_modules', getLanguagePackage(language));
  const files = [
    ...(dataFolder === null
      ? []
      : ['.traineddata.gz', '.traineddata'].map((ending) => join(resolve(dataFolder), language + ending))),
    ...['4.0.0_best_int', '4.0.0'].map((variant) =>
      join(packageFolder, variant, `${language}.traineddata.gz`),
    ),
  ];
  const file = files.find(existsSync);
  return file === undefined ? null : { language, file };
}

/**
 * Makes `folder` anew, with a copy of each file under the name by which the engine asks for it: the process of the engine,
 * which may run as another user, sees no other folder.
 */
export function copyLanguages(data: readonly OcrLanguageData[], folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const { language, file } of data) {
    const copy = join(folder, `${language}.traineddata.gz`);
    copyFileSync(file, copy);
    chmodSync(copy, 0o644);
  }
}
