import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { AdminService } from '../services/admin.ts';
import type { AnswerServices } from '../services/answers.ts';
import type { BackupService } from '../services/backups.ts';
import type { ServiceCall } from '../services/call.ts';
import type { ChangeServices } from '../services/changes.ts';
import type { CohereServices } from '../services/cohere.ts';
import type { CollectionCloneServices } from '../services/collection-clones.ts';
import type { CollectionNameServices } from '../services/collection-names.ts';
import type { CollectionServices } from '../services/collections.ts';
import type { DocumentChangeServices } from '../services/document-changes.ts';
import type { DocumentExportServices } from '../services/document-exports.ts';
import type { DocumentUploadServices } from '../services/document-uploads.ts';
import type { DocumentServices } from '../services/documents.ts';
import type { FileServices } from '../services/files.ts';
import type { Inspection } from '../services/inspection.ts';
import type { InstallationService } from '../services/installation.ts';
import type { ModelService } from '../services/models.ts';
import type { OpenAiServices } from '../services/openai.ts';
import type { ParserServices } from '../services/parsers.ts';
import type { QueryServices } from '../services/queries.ts';
import type { SourceServices } from '../services/sources.ts';
import type { StatusServices } from '../services/status.ts';
import type { SuggestionServices } from '../services/suggestions.ts';
import type { UsageService } from '../services/usage.ts';
import type { UserService } from '../services/users.ts';
import type { WebhookServices } from '../webhooks/webhook-services.ts';

export type OrganizationCall = ServiceCall<OrganizationPrincipal>;
/** Call that needs no key: its token is the credential. */
export type TokenCall = Omit<ServiceCall, 'principal'>;

/** Public methods of a class, so that tests can replace it by an object. */
type PublicMethods<Service> = Pick<Service, keyof Service>;

/**
 * Services that routes call, one method per operation. Requests match their schema and have passed the rules
 * of their route. A method returns the body of its reply or throws an AppError.
 */
export interface Services {
  readonly collections: PublicMethods<CollectionServices>;
  readonly clones: PublicMethods<CollectionCloneServices>;
  readonly names: PublicMethods<CollectionNameServices>;
  readonly documents: PublicMethods<DocumentServices>;
  readonly uploads: PublicMethods<DocumentUploadServices>;
  readonly exports: PublicMethods<DocumentExportServices>;
  readonly changes: PublicMethods<DocumentChangeServices>;
  readonly changeFeed: PublicMethods<ChangeServices>;
  readonly files: PublicMethods<FileServices>;
  readonly queries: PublicMethods<QueryServices>;
  readonly answers: PublicMethods<AnswerServices>;
  readonly suggestions: PublicMethods<SuggestionServices>;
  readonly status: PublicMethods<StatusServices>;
  readonly parsers: PublicMethods<ParserServices>;
  readonly models: Pick<ModelService, 'getModelList' | 'embed' | 'rerank'>;
  readonly openAi: PublicMethods<OpenAiServices>;
  readonly cohere: PublicMethods<CohereServices>;
  readonly admin: PublicMethods<AdminService>;
  readonly inspection: PublicMethods<Inspection>;
  readonly users: PublicMethods<UserService>;
  readonly backups: PublicMethods<BackupService>;
  readonly installation: PublicMethods<InstallationService>;
  readonly sources: PublicMethods<SourceServices>;
  readonly webhooks: PublicMethods<WebhookServices>;
  readonly usage: PublicMethods<UsageService>;
}
