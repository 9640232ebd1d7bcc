import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/curations.ts';

export const texts: Translation<typeof english> = {
  newRule: 'Neue Regel',
  editRule: 'Regel bearbeiten',
  queries: 'Suchanfragen',
  onePerLineCaseAccents:
    'Eine pro Zeile. Groß- und Kleinschreibung, Akzente und Satzzeichen spielen keine Rolle.',
  refundMoneyBack: 'Rückerstattung\nGeld zurück',
  pinnedDocuments: 'Angeheftete Dokumente',
  pathsOfTheDocumentsThat:
    'Pfade der Dokumente, die zuerst erscheinen, einer pro Zeile, in dieser Reihenfolge.',
  hiddenDocuments: 'Ausgeblendete Dokumente',
  pathsOfTheDocumentsThatAre: 'Pfade der Dokumente, die nicht zurückgegeben werden, einer pro Zeile.',
  cancel: 'Abbrechen',
  saveRule: 'Regel speichern',
  tryQuery: 'Suchanfrage testen',
  query: 'Suchanfrage',
  search: 'Suchen',
  close: 'Schließen',
  openInSearch: 'In der Suche öffnen',
  noResults: 'Keine Ergebnisse.',
  results: 'Ergebnisse',
  pinned: 'Angeheftet',
  pinnedAndHiddenResultsOf: 'Angeheftete und ausgeblendete Ergebnisse von {collection}',
  ruleSaved: 'Regel gespeichert.',
  removeTheRuleForRule: 'Die Regel für {rule} entfernen?',
  removeRule: 'Regel entfernen',
  ruleRemoved: 'Regel entfernt.',
  itsQueriesReturnTheirResults:
    'Ihre Suchanfragen liefern die Ergebnisse wieder nach Score. Es wird kein Dokument gelöscht.',
  aRuleAppliesToA:
    'Eine Regel gilt für eine Suchanfrage mit genau ihren Wörtern. Angeheftete Dokumente erscheinen zuerst, ausgeblendete werden nicht zurückgegeben.',
  noRulesYet: 'Noch keine Regeln.',
  rules: 'Regeln',
  addRule: 'Regel hinzufügen',
  pinnedPinned: 'Angeheftet: {pinned}',
  hiddenHidden: 'Ausgeblendet: {hidden}',
  tryQueryName: 'Suchanfrage {name} testen',
  editTheRuleForName: 'Die Regel für {name} bearbeiten',
  edit: 'Bearbeiten',
  removeTheRuleForName: 'Die Regel für {name} entfernen',
  remove: 'Entfernen',
  synonymsAndStopWordsOf: 'Synonyme und Stoppwörter von {collection}',
  synonymsAndStopWordsSaved: 'Synonyme und Stoppwörter gespeichert.',
  wordsWithTheSameMeaning: 'Wörter mit derselben Bedeutung',
  oneListPerLineIts:
    'Eine Liste pro Zeile, die Wörter durch Kommas getrennt. Sie gelten für alle späteren Suchanfragen der Sammlung.',
  refundReimbursementRepaymentK8sKubernetes: 'Erstattung, Rückzahlung, Rückerstattung\nk8s, kubernetes',
  stopWords: 'Stoppwörter',
  wordsThatLexicalSearchIgnores:
    'Wörter, die die lexikalische Suche ignoriert, durch Kommas getrennt, zusätzlich zu häufigen Wörtern der Sprachen.',
  saveWords: 'Wörter speichern',
};
