import type { Services } from '../../src/http/services.ts';

/** Services about the whole installation with small replies of the documented shape. */
export const fakeInstallation: Services['installation'] = {
  getLogLines: async () => ({ lines: [], next_cursor: 'x-0', is_truncated: false }),
};
