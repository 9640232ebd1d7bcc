import { optionalSetting, type Setting, textSetting } from '../setting.ts';

const uuidPattern = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

/** Command-line client. */
export const clientSettings = {
  url: textSetting('http://127.0.0.1:8720', {
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'URL of the server for client commands',
    allowed: 'an http:// or https:// URL without query or fragment',
  }),
  organization: optionalSetting({
    pattern: uuidPattern,
    meaning:
      'Organization for `quarry keys`, `audit` and `doctor`, and for other commands with a session token as key',
    allowed: 'a UUID',
    defaultMeaning: 'none: the server prints the ID of its first organization at startup',
  }),
} satisfies Record<string, Setting>;
