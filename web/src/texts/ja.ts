import type { Catalogs } from './catalogs.ts';
import { texts as administration } from './ja/administration.ts';
import { texts as answers } from './ja/answers.ts';
import { texts as audit } from './ja/audit.ts';
import { texts as billing } from './ja/billing.ts';
import { texts as collections } from './ja/collections.ts';
import { texts as components } from './ja/components.ts';
import { texts as console } from './ja/console.ts';
import { texts as curations } from './ja/curations.ts';
import { texts as document } from './ja/document.ts';
import { texts as documents } from './ja/documents.ts';
import { texts as keys } from './ja/keys.ts';
import { texts as models } from './ja/models.ts';
import { texts as overlays } from './ja/overlays.ts';
import { texts as overview } from './ja/overview.ts';
import { texts as results } from './ja/results.ts';
import { texts as roles } from './ja/roles.ts';
import { texts as search } from './ja/search.ts';
import { texts as searchOptions } from './ja/search-options.ts';
import { texts as server } from './ja/server.ts';
import { texts as settings } from './ja/settings.ts';
import { texts as shell } from './ja/shell.ts';
import { texts as signIn } from './ja/sign-in.ts';
import { texts as sources } from './ja/sources.ts';
import { texts as team } from './ja/team.ts';
import { texts as upload } from './ja/upload.ts';
import { texts as usage } from './ja/usage.ts';
import { texts as webhooks } from './ja/webhooks.ts';

export const catalogs: Catalogs = {
  administration,
  answers,
  audit,
  billing,
  collections,
  components,
  console,
  curations,
  document,
  documents,
  keys,
  models,
  overlays,
  overview,
  results,
  roles,
  searchOptions,
  search,
  server,
  settings,
  shell,
  signIn,
  sources,
  team,
  upload,
  usage,
  webhooks,
};
