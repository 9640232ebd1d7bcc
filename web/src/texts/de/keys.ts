import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/keys.ts';

export const texts: Translation<typeof english> = {
  never: 'Nie',
  in7Days: 'In 7 Tagen',
  in30Days: 'In 30 Tagen',
  in90Days: 'In 90 Tagen',
  inAYear: 'In einem Jahr',
  createKey: 'Schlüssel erstellen',
  editName: '{name} bearbeiten',
  permission: 'Berechtigung',
  readAndWrite: 'Lesen und schreiben',
  readOnly: 'Nur lesen',
  restrictAccess: 'Zugriff beschränken',
  cancel: 'Abbrechen',
  save: 'Speichern',
  name: 'Name',
  identifiesTheClientThatUses: 'Bezeichnet den Client, der den Schlüssel verwendet.',
  website: 'Website',
  expires: 'Läuft ab',
  webPagesOfTheseOrigins:
    'Webseiten dieser Ursprünge können den Schlüssel verwenden, einer pro Zeile, zum Beispiel {example}. Ihre Besucher können den Schlüssel lesen.',
  webPages: 'Webseiten',
  allowedOrigins: 'Erlaubte Ursprünge',
  metadataFilter: 'Metadatenfilter',
  theKeyCanAccessOnly:
    'Der Schlüssel kann nur auf Dokumente zugreifen, die diesem Filter entsprechen, zum Beispiel {example}. Leer lassen für alle Dokumente.',
  theFilterMustBeA: 'Der Filter muss ein JSON-Objekt sein.',
  invalidJson: 'Ungültiges JSON.',
  apiKeys: 'API-Schlüssel',
  apiRequestsAreAuthenticatedWith:
    'API-Anfragen werden mit einem Schlüssel authentifiziert. Ein Schlüssel wird nur einmal angezeigt, bei der Erstellung.',
  noKeysYet: 'Noch keine Schlüssel',
  createOneKeyForEach:
    'Erstellen Sie einen Schlüssel für jeden API-Client, damit Sie jeden Schlüssel einzeln widerrufen können.',
  ownersAndAdminsOfThis: 'Inhaber und Admins dieser Organisation können Schlüssel erstellen.',
  lastUsed: 'Zuletzt verwendet',
  created: 'Erstellt',
  byBy: 'von {by}',
  actions: 'Aktionen',
  edit: 'Bearbeiten',
  revokeName: '{name} widerrufen',
  revoke: 'Widerrufen',
  onlyOnly: 'Nur {only}',
  onlyCountCollections: { one: 'Nur {count} Sammlung', other: 'Nur {count} Sammlungen' },
  filtered: 'Gefiltert',
  nameWasUpdated: '{name} wurde aktualisiert.',
  copyTheKeyNameNow:
    'Kopieren Sie den Schlüssel {name} jetzt. Der Server speichert nur einen Hash und kann den Schlüssel nicht erneut anzeigen.',
  revokeName2: '{name} widerrufen?',
  revokeKey: 'Schlüssel widerrufen',
  nameWasRevoked: '{name} wurde widerrufen.',
  requestsThatUseApiKeyAre:
    'Anfragen mit {apiKey} werden ab jetzt abgelehnt. Das kann nicht rückgängig gemacht werden.',
};
