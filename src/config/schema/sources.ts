import { optionalSetting, type Setting } from '../setting.ts';

/** Origins that sources may read. */
export const sourceSettings = {
  sourceFolders: optionalSetting({
    pattern: /^([0-9a-f-]{36}=)?\/[^,]*(,([0-9a-f-]{36}=)?\/[^,]*)*$/,
    meaning:
      'Folders that sources of the kind `directory` may read, with everything below them; with an organization ID and =, only for that organization',
    allowed: 'absolute paths without a comma, separated by commas, such as /srv/handbook',
    defaultMeaning: 'none: no folder can be a source',
  }),
} satisfies Record<string, Setting>;
