/**
 * Stop words by language: articles, pronouns, prepositions, conjunctions, auxiliaries, question words. Used
 * for language detection, and removed from queries; never removed from texts, so that every word remains
 * searchable. Lower case, with diacritics, separated by spaces.
 */
export const stopWords = {
  en: `a about above after again all also am an and any are aren as at be because been before being below
between both but by can cannot could couldn did didn do does doesn doing don done down during each few for
from further get give had hadn has hasn have haven having he her here hers herself him himself his how i if
in into is isn it its itself just let ll many may me might more most much must my myself no nor not now of
off on once one only or other ought our ours ourselves out over own please re s same shall she should
shouldn so some such t tell than that the their theirs them themselves then there these they this those
through to too under until up upon us ve very was wasn we were weren what when where whether which while who
whom whose why will with within without won would wouldn you your yours yourself`,
  de: `aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis
bist da dabei dadurch damit dann darf das dass dein deine dem den denn der des dessen deren dich die dies
diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch
euer für gab gegen gewesen gibt hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre
ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jene kann kein keine keinen können
könnte machen man manche mehr mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob oder
ohne sehr sein seine seinem seinen seiner seit sich sie sind so solche soll sollen sollte sondern sonst über
um und uns unser unsere unter viel viele vom von vor während wann war waren warum was weil welche welchem
welchen welcher welches wem wen wenn wer werde werden wessen wie wieder wieviel will wir wird wo wollen
womit worden wurde wurden würde zu zum zur zwischen`,
  fr: `à afin ai ainsi alors après as au aucun aucune aussi autre autres aux avait avant avec avez avoir
avons c ça car ce ceci cela celle celles celui ces cet cette ceux chaque chez comme comment combien d dans
de depuis des dont donc du elle elles en encore entre es est et étaient était étant été être eu eux fait
faut furent fut il ils j je jusqu l la le les leur leurs lors lorsque lui m ma mais me même mêmes mes moi
moins mon n ne ni nos notre nous on ont où ou par parce pas pendant peut peuvent plus plusieurs pour
pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera seront ses si sien soi soit son
sont sous sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y`,
  es: `a al algo algún alguna algunas alguno algunos ante antes aquel aquella así aún aunque bajo bien cada
como cómo con contra cual cuál cuales cuáles cuando cuándo cuánta cuántas cuánto cuántos de del desde donde
dónde dos durante e el él ella ellas ellos en entre era eran es esa esas ese eso esos esta está estaba están
estar estas este esto estos fue fueron ha había habían han hasta hay la las le les lo los más me mi mientras
mis mismo misma mucho muchos muy nada ni no nos nosotros nuestra nuestro o os otra otras otro otros para
pero poco por porque puede pueden pues que qué quien quién quienes se sea según ser si sí sido siempre sin
sino sobre son su sus también tampoco tan tanto te tenía tener ti tiene tienen toda todas todo todos tras tu
tus un una unas uno unos usted y ya yo`,
  it: `a abbia ad agli ai al alla alle allo anche ancora aveva avere c che chi ci cioè coi col come con
contro cosa così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dopo dove
due durante e è ed egli ella era erano essa esse essere essi esso fra fu furono gli ha hai hanno ho i il in
io l la le lei li lo loro lui ma me mentre mi mia mie miei mio molto ne negli nei nel nell nella nelle nello
no noi non nostra nostro o ogni per perché perchè però più poi possono può prima qual quale quali quando
quanta quante quanti quanto quasi quella quelle quelli quello questa queste questi questo qui quindi sarà se
sei senza si sia siano sono sopra sotto sta stata stati stato su sua sue sugli sui sul sulla sulle suo suoi
tra tu tua tuo tutta tutte tutti tutto un una uno vi voi`,
  pt: `a à ainda além algum alguma alguns antes ao aos apenas após aquela aquele aqui as às assim até cada
com como contra da das de dela dele deles depois desde dessa desse desta deste do dos duas durante e é ela
elas ele eles em enquanto entre era eram essa essas esse esses esta está estão estas estava este estes eu
foi for foram há isso isto já lhe lhes lo mais mas me mesma mesmo meu meus minha muito muitos na nas não nem
nenhum no nos nós nossa nosso num numa o onde os ou outra outras outro outros para pela pelas pelo pelos
pode podem pois por porque porquê qual quais quando quanta quantas quanto quantos que quê quem são se seja
sem ser será seu seus só sob sobre sua suas também tão te tem têm tenha ter teve tinha toda todas todo todos
tu um uma umas uns você vocês`,
  nl: `aan achter al alle alleen als andere ben beide bij binnen d daar daarom dan dat de den der deze die
dit doch doen door dus een eens en er ge geen had hadden hebben hebt heeft hem hen het hier hij hoe hoeveel
hun ik in indien is ja je kan kunnen kon maar me meer men met mij mijn moet moeten mogen na naar niet niets
nog nu of om omdat onder ons onze ook op over sinds s t te tegen tijdens toch toen tot tussen u uit uw van
vanaf vele veel voor waar waarom wanneer waren was wat we weer welk welke werd werden wie wiens wij wil
wordt worden zal ze zelf zich zij zijn zo zonder zou zouden zowel`,
  sv: `alla allt än andra är att av bara bli blir blev da då där därför de dem den denna deras dess dessa
det detta dig din dina ditt du efter eller en er ert ett från för genom ha hade han hans har henne hennes
hon honom hur hurdan här i icke in ingen inom inte jag ju kan kunde man många med mellan men mer mig min
mina mitt mot mycket ni nu när någon något några och också om oss på samma sedan sig sin sina sitt själv ska
skall skulle som så till under upp ut utan vad var vara varför varit varje vars vart vem vems vi vid vilka
vilken vilket vår våra åt över`,
  da: `ad af alle alt andre at bare begge blev blive bliver da de dem den denne der deres det dette dig din
dine disse dog du efter eller en end endnu er et før for fra få ham han hans har havde have hende hendes her
hos hun hvad hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor hvornår i ikke ind ingen intet ja
jeg jer jo kan kom kun kunne man mange med meget mellem men mere mig min mine mit mod må når ned nej noget
nogle nu ny og også om op os over på samt selv sig sin sine sit skal skulle som så sådan thi til ud uden
under var ved vi vil ville vor være været`,
  no: `alle andre at av bare begge ble blei bli blir blitt både da de deg dei dem den denne der dere deres
det dette di din disse ditt du eller en enn er et ett etter ei ein eit for fordi fra før ha hadde han hans
har hennar henne hennes her hun hva hvem hver hvilke hvilken hvis hvor hvordan hvorfor i ikke ikkje ingen
inn ja jeg kan kom korleis kun kunne kva kvar man mange med meg meget mellom men mer mest mi min mine mitt
mot mye må når noe noen nå og også om opp oss over på samme seg selv si siden sin sine sitt skal skulle slik
som så sånn til um under ut uten var ved vi vil ville vår være vært å`,
  fi: `ei eivät eli en ennen että he heidän heille hän häneen hänelle hänen ja jo joka joiden joissa joita
jolla jolloin jonka jopa jos joskus jossa josta jota jotka jotta kaikki kanssa kautta ketkä ketä koko koska
kuin kuinka kuka kun kunnes kuten kyllä me meidän mihin mikä mikäli miksi mikään millainen millä milloin
minkä minä missä mistä mitkä mitä moni montako mukaan mutta muun muut myös ne niiden niihin niin niitä noin
nuo nyt nämä näiden oli olisi olivat olla olen ollut on ovat se sekä sen siellä siihen siinä siis sille
sillä sitten sitä sinä tai taas te tämä tämän tässä tästä tätä vaan vaikka vain voi voidaan voivat vai yli`,
  hu: `a abban ad addig ahhoz ahol aki akik akkor alatt által általában amely amelyek amelyet ami amik
amikor amit annak arra az azok azon azt aztán azután azzal be belül benne csak de e egy egyes egyik egyéb
elé el ellen előtt én erre ez ezek ezen ezt ezzel és fel felé ha hanem hány hogy hogyan hol honnan hova igen
illetve így ilyen is ismét itt kell ki kik kinek körül közben között közül le legyen lehet lenne lesz lett
maga már meg mely melyik melyek mert mi miért mikor milyen mind minden mint mit mivel most nagyon ne nek nem
nincs olyan ott össze ő ők őket pedig s saját se sem sok számára szerint szemben talán te tehát több tovább
úgy újra után vagy vagyis való van vannak vele volt voltak volna`,
  ro: `a acea aceasta această aceea acei aceia acel acela acest acesta aceste acestea acestei acești acestui
ai al ale alt alte altul am ar are astfel așa au avea avut aș ca că cât câte câți când care căreia cărui ce
cea cei cel cele celor cine cu cui cum da dacă dar de deci decât deoarece deși despre din dintre doar după
ea ei el ele era erau este eu face fără fi fie fiecare fiind fost iar îi îl în înainte între într își la le
li lor lui mai mult mulți ne ni nici niște noi nostru nu numai o ori pe pentru peste poate pot prin sa să
sale sau se si și sub sunt tot toate toți tu un una unde unei unele unor unui va vor voi`,
  cs: `a aby ale ani ano asi až bez bude budou by byl byla byli bylo byly být co což či další dnes do ho i
já jak jaká jaké jaký jako je jeho jej její jejich jen jenž ještě ji jí jich jim jsem jsi jsme jsou jste k
kam každý kde kdo kdy když ke kolik kromě která které kteří kterou který kterých ku ma má mají mezi mi mimo
mít mu může my na nad nam nám nás náš ne nebo něco nejsou některé není než nic o od on ona oni ono pak po
pod podle pokud pouze pro proč proto protože před přes při s se si snad své svůj svých ta tak také takže tam
te tedy ten tento této tím to toho tohoto tom tomto tomu tu tuto ty tyto u už v vám vás ve více však všech
všechny vy z za ze že`,
  ca: `a aquell aquella aquelles aquells aquest aquesta aquestes aquests això al algun alguna als altra
altre altres amb any aquí bé cada com contra d dalt de del dels des després dins doncs durant e el ella
elles ells els em en encara ens entre era eren es és esta està estan et fins fou ha han havia hi ho i ja l
la les li llavors lo los més meu meva mateix molt molts n ni no nosaltres nostra nostre o on per però perquè
poc pot qual quan quant quants que què qui s sa se sense ser serà seu seus seva seves si sí són sota també
tan tant te tenen tenir tot tota totes tots un una unes uns va van vos`,
  tr: `acaba ama ancak bana bazı belki ben benim bile bir biri birkaç birçok biz bize bizim bu buna bunda
bundan bunlar bunu bunun çok çünkü da daha de değil dek diğer diye dolayı en fakat gibi göre hangi hani hem
hep hepsi her herhangi hiç için idi ile ilgili ise işte ister kaç kadar karşı kendi ki kim kime kimin kimse
kez madem mi mı mu mü nasıl ne neden nedir nerede nereden nereye neyi niçin niye o olan olarak oldu olduğu
olduğunu olmak olması olur ona ondan onlar onların onu onun önce pek rağmen sadece sanki sen seni senin siz
şey şöyle şu tarafından tüm üzere var ve veya ya yalnız yani yapılan yok yine zaten`,
  pl: `a aby ale ani bardzo bez bo być był była było były bym by będzie będą chce ci cię co coś czemu czy
czyli dla dlaczego do gdy gdyby gdzie go i ich ile im inne innych ja jak jaka jaki jakie jako je jednak jego
jej jemu jest jestem jeszcze już każdy kiedy kto która które którego której którzy który lub ma mają mi mnie
może mu my na nad nas nasz nie niej nim nich niż o od on ona one oni ono oraz po pod podczas ponieważ przed
przez przy się są sobie swoje ta tak także tam te tego tej ten też to tu tych tylko tym u w we wiele więc
wszystkie wszystko z za ze że`,
  vi: `bị bởi các cái cần cho chỉ chiếc chính có còn của cùng cũng đã đang đây để đến đều điều do đó được gì
hay hoặc khi không là lại làm lên mà mỗi một nào này nên nếu những như nhưng nhiều ở phải qua ra rằng rất
sau sẽ sự tại theo thì trên trong từ và vào vẫn về vì với`,
  id: `ada adalah agar akan antara apa apakah atau bagaimana bahwa banyak bagi beberapa berapa bisa dalam
dan dapat dari dengan di dia hanya ia ini itu jika juga kami kapan karena ke kepada kita lebih maka mana
mengapa mereka oleh pada para saat sebagai sebuah secara sedangkan sejak seperti serta setelah siapa suatu
sudah tapi telah tentang tersebut tetapi tidak untuk yaitu yang`,
  ru: `а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да для до его ее
её ей ему если есть еще ещё же за здесь и из или им иногда их к как какая какие какой каком ко когда кто
куда ли либо между меня мне много может можно мой мы на над надо нас не него нее ней нет ни них но ну о об
однако он она они оно от перед по под после потому почему при про с сам свою себя сколько со так также такие
такой там тебя тем то того тоже той только том тот ты у уже хотя чего чей чем что чтобы чья эта эти этих это
этого этой этом этот эту я является являются`,
  uk: `а або але без би був була були було бути в вам вас ви від він вони вона воно все всі да де до для є
його її їй їм їх же за з зі і із інші й як яка яке який яких якщо якого коли ким кого котрий куди ли між
мене мені ми може мій на над навіть нам нас не неї нею ні ним них ну о один однак під після по при про саме
свої себе скільки та так також там твій те ти тим тільки то того той тому у хто хоча це цей ці цього ця чи
чого чому що щоб я`,
  bg: `а аз ако беше би бил била били било бъде бяха в вас ви във все всеки всички всичко вече вие г ги го
да дали до докато докога е едва един една едно за зад заедно заради защо защото и из или им има имат й как
каква какво както какъв като кога когато което които кой който колко която къде към ли м ме между мен ми
много може му на над най не нас него нея ни ние никой нито но някои някой няма о обаче около от освен още по
под поради после пред при са само се сега си след според сред срещу съм със също т така такава такъв там те
тези ти то това тогава този той толкова тук тя тях у че чрез ще я`,
  el: `ένα ένας έναν έχει έχουν ή ήταν αλλά αν από απο αυτά αυτές αυτή αυτό αυτός αυτού αυτών για δε δεν εγώ
εδώ είναι είχε εκεί εκείνος εμείς ενώ επειδή επίσης ενός εσείς εσύ η θα και κατά καθώς κάθε με μέσα μετά
μεταξύ μη μην μας μια μία μου να ο οι όμως όπου όπως όσο ότι όταν οποία οποίο οποίος οποίοι ποια ποιά ποιες
ποιο ποιοι ποιος ποιό ποιός πολύ πολλοί πολλά πόσα πόσες πόσο πόσοι πού που πότε προς πριν πρέπει πως πώς
σαν σας σε στα στη στην στις στο στον στους στου σου τα τη την της τι τί τις το τον του τους των τότε υπό
χωρίς ως ώστε`,
  ar: `أ أبو أثناء أحد إذ إذا ألا إلا التي الذي الذين اللاتي اللذان إلى أم أما أمام أن إن أنا أنت أنه إنه
أنها أو أي أين أية أيضا أيضًا ب بأن بدون بعد بعض بل بن به بها بين تحت تكون تم ثم جدا حتى حول حيث حين خلال
دون ذات ذلك سوف ضد ضمن عبر على عليه عليها عن عند عندما عنها عنه غير ف فقد فقط في فيه فيها قبل قد كان كانت
كذلك كل كما كم كيف لا لأن لكن لكي لم لما لماذا لن له لها لهذا لهم ليس ليست ما ماذا متى مثل مع مما من منذ
منها منه نحن نحو هذا هذه هل هم هن هنا هناك هو هي و وقد وكان وكانت ولا ولم وما ومن وهو وهي يكون يمكن`,
  fa: `آن آنها از است اگر اما این اینکه با باید بر برای بسیار بود بودند به بی تا تر تو چرا چند چه چون چگونه
خود خواهد در دیگر را روی زیر سپس شد شده شدند شما شود که کدام کرد کردن کرده کنند کند کنید کی ما من مورد می نه
نیز نیست هر هست هستند هم همه همین و وی ولی هیچ یا یک یکی`,
  hi: `अगर अपना अपनी अपने अब आदि आप इन इनके इस इसका इसकी इसके इसे उन उनका उनकी उनके उस उसका उसकी उसके उसे एक
एवं ऐसे और कब कई कर करता करते करना करने का कि कितना कितनी कितने किया किस किसका किसने किसी की कुछ के को कोई
कौन कौनसा क्या क्यों गई गए गया चाहिए जब जहाँ जा जाता जाती जाते जैसे जो तक तथा तब तो था थी थे दिया द्वारा न
नहीं ने पर फिर बहुत बाद भी में मैं यदि यह यहाँ या ये रहा रही रहे वह वाला वाली वाले वे सकता सकते सभी साथ से
हम ही हुआ हुई हुए है हैं हो होता होती होते होना`,
  he: `אבל או אולי אותה אותו אחר אחרי אך אל אלא אלה אם אנחנו אני אף את אתה אתם בגלל בין בלי בן גם דרך הוא
היא היה היו הם הן הנה הרבה ועל זאת זה זו יותר יש כאשר כדי כי כך כל כמה כמו כן כפי לא לאחר לה להם להיות לו לי
לפי לפני מאוד מאשר מה מול מי מכל ממנו מן מתי נגד על עם עד עוד עליו פי רק של שלה שלהם שלו שם תחת`,
} as const satisfies Record<string, string>;

/** ISO 639-1 code of a language with a list. */
export type LanguageCode = keyof typeof stopWords;
