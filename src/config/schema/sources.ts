import { optionalSetting, type Setting } from '../setting.ts';
import { hostsPattern } from './url-patterns.ts';

/** Origins that sources may read. */
export const sourceSettings = {
  sourceFolders: optionalSetting({
    pattern: /^([0-9a-f-]{36}=)?\/[^,]*(,([0-9a-f-]{36}=)?\/[^,]*)*$/,
    meaning:
      'Folders that sources of the kind `directory` may read, with everything below them; with an organization ID and =, only for that organization',
    allowed: 'absolute paths without a comma, separated by commas, such as /srv/handbook',
    defaultMeaning: 'none: no folder can be a source',
  }),
  sourceHosts: optionalSetting({
    pattern: hostsPattern,
    meaning: 'Hosts that sources may connect to; * for all public hosts on ports 80 and 443',
    allowed: 'host or host:port, separated by commas, or *',
    defaultMeaning: 'none: sources cannot connect to any host',
  }),
  sourcePrivateHosts: optionalSetting({
    pattern: hostsPattern,
    meaning: 'Hosts with private addresses that sources may connect to',
    allowed: 'host or host:port, separated by commas',
    defaultMeaning: 'none: private addresses are rejected',
  }),
} satisfies Record<string, Setting>;
