import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/keys.ts';

export const texts: Translation<typeof english> = {
  never: 'Jamais',
  in7Days: 'Dans 7 jours',
  in30Days: 'Dans 30 jours',
  in90Days: 'Dans 90 jours',
  inAYear: 'Dans un an',
  createKey: 'Créer une clé',
  editName: 'Modifier {name}',
  permission: 'Autorisation',
  readAndWrite: 'Lecture et écriture',
  readOnly: 'Lecture seule',
  restrictAccess: 'Restreindre l’accès',
  cancel: 'Annuler',
  save: 'Enregistrer',
  name: 'Nom',
  identifiesTheClientThatUses: 'Identifie le client qui utilise la clé.',
  website: 'Site web',
  expires: 'Expiration',
  webPagesOfTheseOrigins:
    'Les pages web de ces origines peuvent utiliser la clé, une par ligne, par exemple {example}. Leurs visiteurs peuvent lire la clé.',
  webPages: 'Pages web',
  allowedOrigins: 'Origines autorisées',
  metadataFilter: 'Filtre de métadonnées',
  theKeyCanAccessOnly:
    'La clé n’a accès qu’aux documents qui correspondent à ce filtre, par exemple {example}. Laissez vide pour tous les documents.',
  theFilterMustBeA: 'Le filtre doit être un objet JSON.',
  invalidJson: 'JSON non valide.',
  apiKeys: 'Clés API',
  apiRequestsAreAuthenticatedWith:
    'Les requêtes API sont authentifiées par une clé. Une clé n’est affichée qu’une fois, à sa création.',
  noKeysYet: 'Aucune clé pour le moment',
  createOneKeyForEach:
    'Créez une clé pour chaque client API, afin de pouvoir révoquer chaque clé séparément.',
  ownersAndAdminsOfThis: 'Les propriétaires et les admins de cette organisation peuvent créer des clés.',
  lastUsed: 'Dernière utilisation',
  created: 'Création',
  byBy: 'par {by}',
  actions: 'Actions',
  edit: 'Modifier',
  revokeName: 'Révoquer {name}',
  revoke: 'Révoquer',
  onlyOnly: 'Seulement {only}',
  onlyCountCollections: { one: 'Seulement {count} collection', other: 'Seulement {count} collections' },
  filtered: 'Filtré',
  nameWasUpdated: '{name} a été mis à jour.',
  copyTheKeyNameNow:
    'Copiez la clé {name} maintenant. Le serveur n’enregistre qu’une empreinte et ne peut pas afficher la clé à nouveau.',
  revokeName2: 'Révoquer {name} ?',
  revokeKey: 'Révoquer la clé',
  nameWasRevoked: '{name} a été révoqué.',
  requestsThatUseApiKeyAre:
    'Les requêtes qui utilisent {apiKey} sont désormais refusées. Cette action est irréversible.',
};
