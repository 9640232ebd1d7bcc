import {
  enumSetting,
  integerSetting,
  optionalSetting,
  type Setting,
  secondsSetting,
  textSetting,
} from '../setting.ts';

/** Parsing, OCR and external tools. */
export const parsingSettings = {
  parseSecondsMax: secondsSetting(1, 86_400, 600, {
    meaning: 'Timeout for parsing one document',
  }),
  parseStallSeconds: secondsSetting(1, 86_400, 20, {
    meaning: 'Maximum time without a new page while one document is parsed',
  }),
  ocrEngine: enumSetting(['auto', 'tesseract', 'embedded', 'off'], 'auto', {
    meaning:
      'OCR engine: the installed tesseract, the embedded engine, the first of them that has the languages (auto), or none (off)',
  }),
  ocrLanguages: textSetting('eng', {
    pattern: /^[A-Za-z][A-Za-z0-9_/-]*(\+[A-Za-z][A-Za-z0-9_/-]*)*$/,
    meaning: 'Languages for OCR; the server does not start if one is not installed',
    allowed: 'names of Tesseract language data joined with +, such as eng+deu',
  }),
  ocrDataFolder: optionalSetting({
    meaning: 'Folder of additional Tesseract language data for the embedded engine',
    allowed: 'a folder with files such as deu.traineddata or deu.traineddata.gz',
    defaultMeaning: 'none',
  }),
  ocrPagesMax: integerSetting(0, 5_000, 200, {
    meaning: 'Maximum pages per document that are read by OCR',
    unit: 'pages',
  }),
  ocrPageSecondsMax: secondsSetting(1, 3_600, 60, { meaning: 'Timeout for OCR of one page' }),
  ocrSecondsMax: secondsSetting(1, 86_400, 480, {
    meaning:
      'Time limit for OCR per document, at most four fifths of QUARRY_PARSE_SECONDS_MAX; finished pages are kept',
  }),
  toolsIsolation: enumSetting(['required', 'preferred', 'off'], 'preferred', {
    meaning:
      'Sandbox for parser processes and external tools, without access to data and network: the strongest that the host supports; with required, tools do not run without full isolation',
  }),
  office: enumSetting(['auto', 'off'], 'auto', {
    meaning: 'LibreOffice: used if installed (auto), or not (off)',
  }),
  officeSecondsMax: secondsSetting(1, 3_600, 120, {
    meaning: 'Timeout for converting one file with LibreOffice',
  }),
} satisfies Record<string, Setting>;
