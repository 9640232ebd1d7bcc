import type * as admin from '../schemas/admin.ts';
import type * as audit from '../schemas/audit.ts';
import type * as collections from '../schemas/collections.ts';
import type * as documents from '../schemas/documents.ts';
import type * as models from '../schemas/models.ts';
import type * as parsers from '../schemas/parsers.ts';
import type { OrganisationPrincipal, Principal } from '../schemas/principal.ts';
import type * as queries from '../schemas/queries.ts';
import type * as factors from '../schemas/second-factors.ts';
import type * as status from '../schemas/status.ts';
import type * as usage from '../schemas/usage.ts';
import type * as users from '../schemas/users.ts';
import type { DefaultResponse, EmptyRequest } from '../schemas/wire.ts';
import type { Call } from '../services/call.ts';
import type { DocumentInfo, PageInfo } from '../services/documents.ts';
import type { Rendered } from '../services/rendered.ts';

export type OrganisationCall = Call<OrganisationPrincipal>;
export type AdministratorCall = Call<Extract<Principal, { kind: 'administrator' }>>;
/** A call that needs no key: its token is the credential. */
export type OpenCall = Omit<Call, 'principal'>;

/** A reply whose status depends on what happened. */
export interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}

/** A raw document, ready to be sent. */
export interface FileSource {
  /** Bytes. */
  readonly size: number;
  readonly contentType: string;
  /** Name offered when the file is saved. */
  readonly filename: string;
  /** Changes when the bytes do, without quotes; null when nothing is known. */
  readonly etag: string | null;
  /** Bytes `[start, end)`. Called at most once; returned early when the client goes away. */
  readonly open: (range: { readonly start: number; readonly end: number }) => AsyncIterable<Uint8Array>;
}

export interface ImageSource {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

type Use<C, Request, Body> = (call: C, request: Request) => Promise<Body>;
type Serve<Request, Body> = Use<OrganisationCall, Request, Body>;
type Administer<Request, Body> = Use<AdministratorCall, Request, Body>;

/**
 * The use cases behind the door, one function per operation. A request has the shape of its schema and has passed the
 * rules of `schemas/checks.ts`; a function answers the body of its reply, or throws an AppError.
 */
export interface Services {
  readonly addCollection: Serve<collections.AddCollectionRequest, DefaultResponse>;
  readonly deleteCollection: Serve<collections.DeleteCollectionRequest, DefaultResponse>;
  readonly updateCollection: Serve<collections.UpdateCollectionRequest, DefaultResponse>;
  readonly changeModel: Serve<collections.ChangeModelRequest, DefaultResponse>;
  readonly getCollectionList: Serve<EmptyRequest, collections.GetCollectionListResponse>;

  /** 201 for a new document, 200 for an overwritten one. Base64 is decoded (`decodeBase64`) here, not at the door. */
  readonly addDocument: Serve<documents.AddDocumentRequest, Answer<documents.AddDocumentResponse>>;
  /** Items are `unknown` until `compileValidator(BatchDocument)` and the checks have passed them one by one. */
  readonly addDocuments: Serve<documents.AddDocumentsRequest, documents.AddDocumentsResponse>;
  /**
   * `body` yields the file as it arrives and may be left early. It throws when the client goes away, the file is too
   * large or the form is broken; nothing may be acknowledged before it ended.
   */
  readonly uploadDocument: (
    call: OrganisationCall,
    parameters: documents.UploadParameters,
    body: AsyncIterable<Uint8Array>,
  ) => Promise<Answer<documents.AddDocumentResponse>>;
  readonly updateDocument: Serve<documents.UpdateDocumentRequest, DefaultResponse>;
  readonly deleteDocument: Serve<documents.DeleteDocumentRequest, documents.DeleteDocumentResponse>;
  readonly getDocumentInfo: Serve<documents.GetDocumentInfoRequest, DocumentInfo>;
  readonly getDocumentInfoList: Serve<
    documents.GetDocumentInfoListRequest,
    documents.GetDocumentInfoListResponse
  >;
  readonly getPageInfo: Serve<documents.GetPageInfoRequest, PageInfo>;
  /** Errors: `not_found` when the token is unknown or its document is gone or replaced. */
  readonly getDocumentFile: (call: OpenCall, token: string) => Promise<FileSource>;
  /** Errors: `not_found` as above, and for a page without an image. */
  readonly getPageImage: (call: OpenCall, token: string, width: number | null) => Promise<ImageSource>;

  readonly getStatus: Serve<status.StatusRequest, status.StatusResponse>;
  readonly topDocuments: Serve<queries.TopDocumentsRequest, Rendered<queries.TopDocumentsResponse>>;
  readonly topPages: Serve<queries.TopPagesRequest, Rendered<queries.TopPagesResponse>>;
  readonly topSnippets: Serve<queries.TopSnippetsRequest, Rendered<queries.TopSnippetsResponse>>;
  readonly parseDocument: Serve<parsers.ParseDocumentRequest, parsers.ParseDocumentResponse>;

  readonly getModelList: Serve<EmptyRequest, models.GetModelListResponse>;
  readonly embed: Serve<models.EmbedRequest, models.EmbedResponse>;
  readonly rerank: Serve<models.RerankRequest, models.RerankResponse>;
  readonly openAiEmbeddings: Serve<models.OpenAiEmbeddingsRequest, models.OpenAiEmbeddingsResponse>;
  readonly cohereRerank: Serve<models.CohereRerankRequest, models.CohereRerankResponse>;

  readonly createOrganization: Administer<admin.CreateOrganizationRequest, DefaultResponse>;
  readonly listOrganizations: Administer<admin.ListOrganizationsRequest, admin.ListOrganizationsResponse>;
  readonly getOrganization: Administer<admin.GetOrganizationRequest, admin.GetOrganizationResponse>;
  readonly updateOrganization: Administer<admin.UpdateOrganizationRequest, DefaultResponse>;
  readonly addApiKey: Administer<admin.AddAPIKeyRequest, admin.AddAPIKeyResponse>;
  readonly listApiKeys: Administer<admin.ListAPIKeysRequest, admin.ListAPIKeysResponse>;
  readonly updateApiKey: Administer<admin.UpdateAPIKeyRequest, DefaultResponse>;
  readonly deleteApiKey: Administer<admin.DeleteAPIKeyRequest, DefaultResponse>;
  readonly deleteOrganization: Administer<admin.DeleteOrganizationRequest, DefaultResponse>;
  readonly inspectOrganization: Administer<
    admin.InspectOrganizationRequest,
    admin.InspectOrganizationResponse
  >;
  readonly getAuditLog: Administer<audit.AuditLogRequest, audit.AuditLogResponse>;

  readonly listUsers: Administer<users.ListUsersRequest, users.ListUsersResponse>;
  readonly endUserSessions: Administer<users.UserRequest, DefaultResponse>;
  readonly disableUser: Administer<users.UserRequest, DefaultResponse>;
  readonly enableUser: Administer<users.UserRequest, DefaultResponse>;
  readonly deleteUser: Administer<users.UserRequest, DefaultResponse>;
  readonly resetSecondFactor: Administer<users.UserRequest, DefaultResponse>;
  readonly getAdministratorSecondFactor: Administer<EmptyRequest, factors.SecondFactorStatusResponse>;
  readonly beginAdministratorSecondFactor: Administer<EmptyRequest, factors.BeginSecondFactorResponse>;
  readonly confirmAdministratorSecondFactor: Administer<
    factors.SecondFactorCodeRequest,
    factors.ConfirmSecondFactorResponse
  >;
  readonly disableAdministratorSecondFactor: Administer<factors.SecondFactorCodeRequest, DefaultResponse>;

  readonly usageDocuments: Serve<usage.UsageRequest, usage.DocumentUsageResponse[]>;
  readonly usageQueries: Serve<usage.UsageRequest, usage.QueryUsageResponse[]>;
  readonly usageReranker: Serve<usage.UsageRequest, usage.RerankUsageResponse[]>;
  readonly usageEmbed: Serve<usage.UsageRequest, usage.EmbedUsageResponse[]>;
  readonly usageModelsCounters: Serve<EmptyRequest, usage.ModelsUsageCountersResponse>;
  readonly usageCounters: Serve<EmptyRequest, usage.UsageCountersResponse>;
}
