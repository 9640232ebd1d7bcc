import type * as admin from '../schemas/admin.ts';
import type * as audit from '../schemas/audit.ts';
import type * as collections from '../schemas/collections.ts';
import type * as documents from '../schemas/documents.ts';
import type * as models from '../schemas/models.ts';
import type * as parsers from '../schemas/parsers.ts';
import type { OrganizationPrincipal, Principal } from '../schemas/principal.ts';
import type * as queries from '../schemas/queries.ts';
import type * as factors from '../schemas/second-factors.ts';
import type * as status from '../schemas/status.ts';
import type * as usage from '../schemas/usage.ts';
import type * as users from '../schemas/users.ts';
import type { DefaultResponse, EmptyRequest } from '../schemas/wire.ts';
import type { ServiceCall } from '../services/call.ts';
import type { DocumentInfo, PageInfo } from '../services/documents.ts';
import type { RenderedJson } from '../services/rendered-json.ts';

export type OrganizationCall = ServiceCall<OrganizationPrincipal>;
export type AdministratorCall = ServiceCall<Extract<Principal, { kind: 'administrator' }>>;
/** Call that needs no key: its token is the credential. */
export type TokenCall = Omit<ServiceCall, 'principal'>;

/** Reply whose status depends on the outcome. */
export interface ServiceReply<Body> {
  readonly status: number;
  readonly body: Body;
}

/** Raw document, ready to send. */
export interface FileSource {
  /** Size in bytes. */
  readonly size: number;
  readonly contentType: string;
  /** File name offered for download. */
  readonly filename: string;
  /** Entity tag without quotes, which changes with the bytes; null when unknown. */
  readonly etag: string | null;
  /** Streams bytes `[start, end)`. Called at most once; returned early when the client disconnects. */
  readonly open: (range: { readonly start: number; readonly end: number }) => AsyncIterable<Uint8Array>;
}

export interface PageImage {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

type ServiceFunction<C, Request, Body> = (call: C, request: Request) => Promise<Body>;
type OrganizationFunction<Request, Body> = ServiceFunction<OrganizationCall, Request, Body>;
type AdministratorFunction<Request, Body> = ServiceFunction<AdministratorCall, Request, Body>;

/**
 * Use cases of the API, one function per operation. Requests match their schema and have passed the rules of
 * `schemas/checks.ts`. A function returns the body of its reply or throws an AppError.
 */
export interface Services {
  readonly addCollection: OrganizationFunction<collections.AddCollectionRequest, DefaultResponse>;
  readonly deleteCollection: OrganizationFunction<collections.DeleteCollectionRequest, DefaultResponse>;
  readonly updateCollection: OrganizationFunction<collections.UpdateCollectionRequest, DefaultResponse>;
  readonly changeModel: OrganizationFunction<collections.ChangeModelRequest, DefaultResponse>;
  readonly getCollectionList: OrganizationFunction<EmptyRequest, collections.GetCollectionListResponse>;

  /**
   * 201 for a new document, 200 for an overwritten one. Decodes Base64 (`decodeBase64`); the HTTP layer does
   * not.
   */
  readonly addDocument: OrganizationFunction<
    documents.AddDocumentRequest,
    ServiceReply<documents.AddDocumentResponse>
  >;
  /**
   * Items are `unknown` until `compileValidator(BatchDocument)` and the checks have accepted each of them.
   */
  readonly addDocuments: OrganizationFunction<documents.AddDocumentsRequest, documents.AddDocumentsResponse>;
  /**
   * `body` yields the file as it arrives and may be abandoned early. It throws when the client disconnects,
   * the file is too large or the form is malformed; acknowledge nothing before it ends.
   */
  readonly uploadDocument: (
    call: OrganizationCall,
    parameters: documents.UploadParameters,
    body: AsyncIterable<Uint8Array>,
  ) => Promise<ServiceReply<documents.AddDocumentResponse>>;
  readonly updateDocument: OrganizationFunction<documents.UpdateDocumentRequest, DefaultResponse>;
  readonly deleteDocument: OrganizationFunction<
    documents.DeleteDocumentRequest,
    documents.DeleteDocumentResponse
  >;
  readonly getDocumentInfo: OrganizationFunction<documents.GetDocumentInfoRequest, DocumentInfo>;
  readonly getDocumentInfoList: OrganizationFunction<
    documents.GetDocumentInfoListRequest,
    documents.GetDocumentInfoListResponse
  >;
  readonly getPageInfo: OrganizationFunction<documents.GetPageInfoRequest, PageInfo>;
  /** Errors: `not_found` when the token is unknown, or its document was deleted or replaced. */
  readonly getDocumentFile: (call: TokenCall, token: string) => Promise<FileSource>;
  /** Errors: `not_found` as in `getDocumentFile`, and for a page without an image. */
  readonly getPageImage: (call: TokenCall, token: string, width: number | null) => Promise<PageImage>;

  readonly getStatus: OrganizationFunction<status.StatusRequest, status.StatusResponse>;
  readonly topDocuments: OrganizationFunction<
    queries.TopDocumentsRequest,
    RenderedJson<queries.TopDocumentsResponse>
  >;
  readonly topPages: OrganizationFunction<queries.TopPagesRequest, RenderedJson<queries.TopPagesResponse>>;
  readonly topSnippets: OrganizationFunction<
    queries.TopSnippetsRequest,
    RenderedJson<queries.TopSnippetsResponse>
  >;
  readonly parseDocument: OrganizationFunction<parsers.ParseDocumentRequest, parsers.ParseDocumentResponse>;

  readonly getModelList: OrganizationFunction<EmptyRequest, models.GetModelListResponse>;
  readonly embed: OrganizationFunction<models.EmbedRequest, models.EmbedResponse>;
  readonly rerank: OrganizationFunction<models.RerankRequest, models.RerankResponse>;
  readonly openAiEmbeddings: OrganizationFunction<
    models.OpenAiEmbeddingsRequest,
    models.OpenAiEmbeddingsResponse
  >;
  readonly cohereRerank: OrganizationFunction<models.CohereRerankRequest, models.CohereRerankResponse>;

  readonly createOrganization: AdministratorFunction<admin.CreateOrganizationRequest, DefaultResponse>;
  readonly listOrganizations: AdministratorFunction<
    admin.ListOrganizationsRequest,
    admin.ListOrganizationsResponse
  >;
  readonly getOrganization: AdministratorFunction<
    admin.GetOrganizationRequest,
    admin.GetOrganizationResponse
  >;
  readonly updateOrganization: AdministratorFunction<admin.AdminUpdateOrganizationRequest, DefaultResponse>;
  readonly addApiKey: AdministratorFunction<admin.AdminAddAPIKeyRequest, admin.AdminAddAPIKeyResponse>;
  readonly listApiKeys: AdministratorFunction<admin.ListAPIKeysRequest, admin.ListAPIKeysResponse>;
  readonly updateApiKey: AdministratorFunction<admin.AdminUpdateAPIKeyRequest, DefaultResponse>;
  readonly deleteApiKey: AdministratorFunction<admin.AdminDeleteAPIKeyRequest, DefaultResponse>;
  readonly deleteOrganization: AdministratorFunction<admin.AdminDeleteOrganizationRequest, DefaultResponse>;
  readonly inspectOrganization: AdministratorFunction<
    admin.InspectOrganizationRequest,
    admin.InspectOrganizationResponse
  >;
  readonly getAuditLog: AdministratorFunction<audit.AuditLogRequest, audit.AuditLogResponse>;

  readonly listUsers: AdministratorFunction<users.ListUsersRequest, users.ListUsersResponse>;
  readonly endUserSessions: AdministratorFunction<users.UserRequest, DefaultResponse>;
  readonly disableUser: AdministratorFunction<users.UserRequest, DefaultResponse>;
  readonly enableUser: AdministratorFunction<users.UserRequest, DefaultResponse>;
  readonly deleteUser: AdministratorFunction<users.UserRequest, DefaultResponse>;
  readonly resetSecondFactor: AdministratorFunction<users.UserRequest, DefaultResponse>;
  readonly getAdministratorSecondFactor: AdministratorFunction<
    EmptyRequest,
    factors.SecondFactorStatusResponse
  >;
  readonly beginAdministratorSecondFactor: AdministratorFunction<
    EmptyRequest,
    factors.BeginSecondFactorResponse
  >;
  readonly confirmAdministratorSecondFactor: AdministratorFunction<
    factors.SecondFactorCodeRequest,
    factors.ConfirmSecondFactorResponse
  >;
  readonly disableAdministratorSecondFactor: AdministratorFunction<
    factors.SecondFactorCodeRequest,
    DefaultResponse
  >;

  readonly usageDocuments: OrganizationFunction<usage.UsageRequest, usage.DocumentUsageResponse[]>;
  readonly usageQueries: OrganizationFunction<usage.UsageRequest, usage.QueryUsageResponse[]>;
  readonly usageReranker: OrganizationFunction<usage.UsageRequest, usage.RerankUsageResponse[]>;
  readonly usageEmbed: OrganizationFunction<usage.UsageRequest, usage.EmbedUsageResponse[]>;
  readonly usageModelsCounters: OrganizationFunction<EmptyRequest, usage.ModelsUsageCountersResponse>;
  readonly usageCounters: OrganizationFunction<EmptyRequest, usage.UsageCountersResponse>;
}
