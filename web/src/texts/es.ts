import type { Catalogs } from './catalogs.ts';
import { texts as administration } from './es/administration.ts';
import { texts as answers } from './es/answers.ts';
import { texts as audit } from './es/audit.ts';
import { texts as billing } from './es/billing.ts';
import { texts as collections } from './es/collections.ts';
import { texts as components } from './es/components.ts';
import { texts as console } from './es/console.ts';
import { texts as curations } from './es/curations.ts';
import { texts as document } from './es/document.ts';
import { texts as documents } from './es/documents.ts';
import { texts as keys } from './es/keys.ts';
import { texts as models } from './es/models.ts';
import { texts as overlays } from './es/overlays.ts';
import { texts as overview } from './es/overview.ts';
import { texts as results } from './es/results.ts';
import { texts as roles } from './es/roles.ts';
import { texts as search } from './es/search.ts';
import { texts as searchOptions } from './es/search-options.ts';
import { texts as server } from './es/server.ts';
import { texts as settings } from './es/settings.ts';
import { texts as shell } from './es/shell.ts';
import { texts as signIn } from './es/sign-in.ts';
import { texts as sources } from './es/sources.ts';
import { texts as team } from './es/team.ts';
import { texts as upload } from './es/upload.ts';
import { texts as usage } from './es/usage.ts';
import { texts as webhooks } from './es/webhooks.ts';

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
