import type { Catalogs } from './catalogs.ts';
import { texts as administration } from './fr/administration.ts';
import { texts as answers } from './fr/answers.ts';
import { texts as audit } from './fr/audit.ts';
import { texts as billing } from './fr/billing.ts';
import { texts as collections } from './fr/collections.ts';
import { texts as components } from './fr/components.ts';
import { texts as console } from './fr/console.ts';
import { texts as curations } from './fr/curations.ts';
import { texts as document } from './fr/document.ts';
import { texts as documents } from './fr/documents.ts';
import { texts as keys } from './fr/keys.ts';
import { texts as models } from './fr/models.ts';
import { texts as overlays } from './fr/overlays.ts';
import { texts as overview } from './fr/overview.ts';
import { texts as results } from './fr/results.ts';
import { texts as roles } from './fr/roles.ts';
import { texts as search } from './fr/search.ts';
import { texts as searchOptions } from './fr/search-options.ts';
import { texts as server } from './fr/server.ts';
import { texts as settings } from './fr/settings.ts';
import { texts as shell } from './fr/shell.ts';
import { texts as signIn } from './fr/sign-in.ts';
import { texts as sources } from './fr/sources.ts';
import { texts as team } from './fr/team.ts';
import { texts as upload } from './fr/upload.ts';
import { texts as usage } from './fr/usage.ts';
import { texts as webhooks } from './fr/webhooks.ts';

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
