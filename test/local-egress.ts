import { Egress } from '../src/egress/egress.ts';

/** For tests of what asks servers of the tests: every port of this machine may be connected to. */
export const localEgress = new Egress({
  mode: 'configured',
  hosts: ['127.0.0.1', 'localhost', '::1'].map((host) => ({ host, port: null, purpose: 'tests' })),
});
