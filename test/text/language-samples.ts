/** A few sentences in each detected language, written for these tests. */
export const languageSamples = {
  en: `The tenant shall pay the rent on the first day of each month. If the payment is late, the landlord
may charge a fee that was agreed in writing.`,
  de: `Der Mieter zahlt die Miete am ersten Tag des Monats. Wenn die Zahlung zu spät kommt, kann der
Vermieter eine Gebühr verlangen, die vorher vereinbart wurde.`,
  fr: `Le locataire paie le loyer le premier jour du mois. Si le paiement est en retard, le propriétaire
peut demander des frais qui sont prévus dans le contrat.`,
  es: `El inquilino paga el alquiler el primer día del mes. Si el pago se retrasa, el propietario puede
cobrar una tasa que fue acordada por las partes.`,
  it: `Il conduttore paga il canone il primo giorno del mese. Se il pagamento è in ritardo, il locatore
può chiedere una penale che era stata concordata per iscritto.`,
  pt: `O inquilino paga a renda no primeiro dia do mês. Se o pagamento não for feito a tempo, o senhorio
pode cobrar uma taxa que foi acordada por escrito.`,
  nl: `De huurder betaalt de huur op de eerste dag van de maand. Als de betaling te laat is, kan de
verhuurder kosten vragen die vooraf zijn afgesproken.`,
  sv: `Hyresgästen betalar hyran på den första dagen i månaden. Om betalningen är sen kan hyresvärden ta
ut en avgift som har avtalats och inte är för hög.`,
  da: `Lejeren betaler huslejen på den første dag i måneden. Hvis betalingen er for sen, kan udlejeren
opkræve et gebyr, som de har aftalt af hensyn til hvad der er rimeligt.`,
  fi: `Vuokralainen maksaa vuokran kuukauden ensimmäisenä päivänä. Jos maksu on myöhässä, vuokranantaja
voi periä maksun, joka on sovittu ja jota ei ole muutettu.`,
  hu: `A bérlő a hónap első napján fizeti a bérleti díjat. Ha a fizetés késik, akkor a bérbeadó díjat
kérhet, amely az írásbeli szerződésben van, és nem lehet több.`,
  ro: `Chiriașul plătește chiria în prima zi a lunii. Dacă plata întârzie, proprietarul poate cere o taxă
care a fost convenită în scris și nu este prea mare.`,
  cs: `Nájemce platí nájem první den v měsíci. Pokud se platba opozdí, může pronajímatel žádat poplatek,
který byl dohodnut písemně a není příliš vysoký, aby to bylo jasné.`,
  ca: `El llogater paga el lloguer el primer dia del mes. Si el pagament és tardà, el propietari pot
demanar una taxa que ha estat acordada amb els altres, però no més.`,
  tr: `Kiracı kirayı ayın ilk gününde öder. Ödeme gecikirse ev sahibi, yazılı olarak kabul edilen bir
ücret isteyebilir ve bu ücret için daha sonra bir belge verir.`,
  pl: `Najemca płaci czynsz pierwszego dnia miesiąca. Jeżeli płatność jest spóźniona, wynajmujący może
żądać opłaty, która została uzgodniona na piśmie, ale nie więcej niż to.`,
  vi: `Người thuê phải trả tiền thuê vào ngày đầu tiên của tháng. Nếu thanh toán muộn thì chủ nhà có thể
thu một khoản phí đã được thỏa thuận trong hợp đồng.`,
  id: `Penyewa membayar sewa pada hari pertama setiap bulan. Jika pembayaran terlambat, pemilik dapat
meminta biaya yang telah disepakati secara tertulis dan tidak lebih dari itu.`,
  ru: `Арендатор платит арендную плату в первый день месяца. Если платёж опаздывает, то арендодатель
может взять сбор, который был согласован и не является чрезмерным.`,
  uk: `Орендар сплачує оренду в перший день місяця. Якщо оплата запізнюється, то власник може взяти збір,
який був узгоджений, і це не є надмірним для тих, хто платить.`,
  bg: `Наемателят плаща наема на първия ден от месеца. Ако плащането закъснее, наемодателят може да
поиска такса, която е била договорена и не е твърде висока за тях.`,
  el: `Ο ενοικιαστής πληρώνει το ενοίκιο την πρώτη ημέρα του μήνα. Αν η πληρωμή καθυστερήσει, ο
ιδιοκτήτης μπορεί να ζητήσει μια χρέωση που έχει συμφωνηθεί με τον άλλο.`,
  ar: `يدفع المستأجر الإيجار في اليوم الأول من الشهر. إذا تأخر الدفع فإن المالك قد يطلب رسما كان متفقا
عليه في العقد بين الطرفين ولا يمكن أن يزيد عن ذلك.`,
  fa: `مستأجر اجاره را در روز اول ماه می‌پردازد. اگر پرداخت دیر شود، مالک می‌تواند هزینه‌ای را که در
قرارداد آمده است از او بگیرد و این برای همه یکسان است.`,
  hi: `किरायेदार महीने के पहले दिन किराया देता है। यदि भुगतान देर से होता है तो मकान मालिक वह शुल्क ले
सकता है जो अनुबंध में लिखा गया है और इससे अधिक नहीं।`,
  he: `השוכר משלם את שכר הדירה ביום הראשון של החודש. אם התשלום מאחר, המשכיר יכול לבקש עמלה אשר נקבעה
בחוזה, אבל לא יותר מזה, כי כך הוא החוק.`,
} as const;
