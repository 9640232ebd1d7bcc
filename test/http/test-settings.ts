import type { ServerBounds } from '../../src/http/exchange.ts';
import type { RequestHandlerSettings } from '../../src/http/request-handler-options.ts';
import { testEventMsMax } from '../timeouts.ts';

export const settings: RequestHandlerSettings = {
  baseUrl: null,
  trustProxy: false,
  jsonBytesMax: 3_000_000,
  jsonBytesHeldMax: 20_000_000,
  uploadBytesMax: 200_000_000,
  uploadsRunningMax: 20,
  requestsRunningMax: 4_096,
  webhookWindows: [{ ms: 60_000, max: 1_000 }],
  bodyIdleMsMax: testEventMsMax,
  requestMsMax: testEventMsMax,
  mcpMayWrite: false,
  mcpMayAnswer: false,
  home: '/docs',
  hasMetricsAddress: false,
};

/** Tests of a bound override it; in other tests a slow machine must not reach any. */
export const serverBounds: ServerBounds = {
  headerMsMax: testEventMsMax,
  replyIdleMsMax: testEventMsMax,
  lingerMsMax: 1_000,
};
