import { optionalSetting, type Setting } from '../setting.ts';
import { hostsPattern } from './url-patterns.ts';

/** Hosts to which organizations may send changes. */
export const webhookSettings = {
  webhookHosts: optionalSetting({
    pattern: hostsPattern,
    meaning: 'Hosts to which webhooks may be sent; * for all public hosts on the ports 80 and 443',
    allowed: 'host or host:port, separated by commas, or *',
    defaultMeaning: 'none: webhooks cannot be added',
  }),
  webhookPrivateHosts: optionalSetting({
    pattern: hostsPattern,
    meaning: 'Hosts to which webhooks may be sent although they have a private address, also without TLS',
    allowed: 'host or host:port, separated by commas',
    defaultMeaning: 'none: private addresses are refused',
  }),
} satisfies Record<string, Setting>;
