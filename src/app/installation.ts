import type { LogTail } from '../core/log-tail.ts';
import { InstallationService } from '../services/installation.ts';
import { clock } from './runtime.ts';

/** The running server; URL and organization are known when it listens. */
export interface Installation {
  url: string;
  organizationId: string;
  readonly logTail: LogTail;
}

export function createInstallationService({ logTail }: Installation): InstallationService {
  return new InstallationService({ logTail, startId: clock.now().toString(36) });
}
