import type { Catalogs } from './catalogs.ts';
import { texts as administration } from './de/administration.ts';
import { texts as answers } from './de/answers.ts';
import { texts as audit } from './de/audit.ts';
import { texts as billing } from './de/billing.ts';
import { texts as collections } from './de/collections.ts';
import { texts as components } from './de/components.ts';
import { texts as console } from './de/console.ts';
import { texts as curations } from './de/curations.ts';
import { texts as document } from './de/document.ts';
import { texts as documents } from './de/documents.ts';
import { texts as keys } from './de/keys.ts';
import { texts as models } from './de/models.ts';
import { texts as overlays } from './de/overlays.ts';
import { texts as overview } from './de/overview.ts';
import { texts as results } from './de/results.ts';
import { texts as roles } from './de/roles.ts';
import { texts as search } from './de/search.ts';
import { texts as searchOptions } from './de/search-options.ts';
import { texts as server } from './de/server.ts';
import { texts as settings } from './de/settings.ts';
import { texts as shell } from './de/shell.ts';
import { texts as signIn } from './de/sign-in.ts';
import { texts as sources } from './de/sources.ts';
import { texts as team } from './de/team.ts';
import { texts as upload } from './de/upload.ts';
import { texts as usage } from './de/usage.ts';
import { texts as webhooks } from './de/webhooks.ts';

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
