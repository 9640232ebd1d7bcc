import { optionalSetting, type Setting } from '../setting.ts';
import { hostsPattern } from './url-patterns.ts';

/** Hosts to which organizations may send changes. */
export const webhookSettings = {
  webhookHosts: optionalSetting({
    pattern: hostsPattern,
    meaning: 'Hosts that webhooks may be sent to; * for all public hosts on ports 80 and 443',
    allowed: 'host or host:port, separated by commas, or *',
    defaultMeaning: 'none: webhooks cannot be added',
  }),
  webhookPrivateHosts: optionalSetting({
    pattern: hostsPattern,
    meaning: 'Hosts with private addresses that webhooks may be sent to, also over http://',
    allowed: 'host or host:port, separated by commas',
    defaultMeaning: 'none: private addresses are rejected',
  }),
} satisfies Record<string, Setting>;
