import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageFolders } from '../../core/root.ts';

/** Data of one language for the embedded OCR engine. */
export interface OcrLanguageData {
  readonly language: string;
  readonly file: string;
}

/** Returns the npm package that contains the data of a language. */
export function getLanguagePackage(language: string): string {
  return `@tesseract.js-data/${language}`;
}

/**
 * Returns the data of a language: a file in the operator's folder, else in an installed npm package. Of a
 * package it prefers `4.0.0_best_int`, which is as accurate as the largest variant at a quarter of its size.
 * Null when there is none.
 */
export function findLanguageData(language: string, dataFolder: string | null): OcrLanguageData | null {
  if (!/^\w+$/.test(language)) return null; // names of scripts contain a slash; only the binary supports them
  const folders = packageFolders.map((folder) => join(folder, getLanguagePackage(language)));
  const files = [
    ...(dataFolder === null
      ? []
      : ['.traineddata.gz', '.traineddata'].map((ending) => join(resolve(dataFolder), language + ending))),
    ...folders.flatMap((folder) =>
      ['4.0.0_best_int', '4.0.0'].map((variant) => join(folder, variant, `${language}.traineddata.gz`)),
    ),
  ];
  const file = files.find(existsSync);
  return file === undefined ? null : { language, file };
}

/**
 * Recreates `folder` with a copy of each file under the name that the engine looks up. The engine process,
 * which may run as another user, can read no other folder.
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
