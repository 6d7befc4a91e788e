"""Word lists: common names of people, places, organisations and tools, and the words that stand beside names.

Written for English conversations; most names of the world are missing, and what is not listed is recognised
by its shape and by the words around it. Every entry is folded. Lists with names of several words are parted
by commas, the others by spaces.
"""

from __future__ import annotations

from foreword.text.words import STOPWORDS


def _split_at_commas(text: str) -> frozenset[str]:
    return frozenset(" ".join(entry.split()) for entry in text.split(","))


# People ---------------------------------------------------------------------------------------------------

_FEMALE = (
    "abby abigail ada adriana agata agnes agnieszka aiko aisha alba alessandra alexandra alice alicia alina "
    "alison amanda amara amelia amina amy ana anastasia angela angelica anita anja ann anna anne annie "
    "annika antonia anya aoife april ashley astrid aurora ayesha ayse barbara beatrice beatriz becky bella "
    "berta beth betty bianca birgit brenda bridget brigitte camila camille carla carmen carol carolina "
    "caroline catherine cecilia celia celine chiara chioma chloe christina christine claire clara claudia "
    "colette connie cristina cynthia daisy daniela daria deb debbie deborah deepika delphine denise diana "
    "dina dolores donna dora doris dorothy edith eileen elaine eleanor elena eleni elif elisa elisabeth "
    "elise elizabeth ella ellen elsa emilia emily emma erica erika esther eva eve evelyn faith fatima fatma "
    "fernanda fiona flora florence frances francesca frida gabriela gabriella gemma genevieve georgia gina "
    "giulia gladys gloria grace greta gwen hana hanna hannah harriet haruka heather heidi helen helena helga "
    "hilda ida ilse imani ines inga ingrid irena irene irina iris isabel isabella isabelle ivana jackie "
    "jacqueline jada jane janet janice jasmine jen jenna jennifer jenny jess jessica jill joan joana joanna "
    "jodie josefina josephine joy joyce judith judy julia juliana julie juliet karen karin katarina "
    "katarzyna kate katherine kathleen kathy katie katja katya kavita keiko kelly khadija kimberly kirsten "
    "klara kristen kristin kristina lakshmi lara latisha laura lauren layla leah leila lena leticia lidia "
    "lila lily linda lisa liz lizzie lola lorena louise lucia lucy luisa luna lydia lynn madeleine maeve "
    "magda magdalena maggie maia malala malika margaret margarita maria mariam mariana marie marina marlene "
    "marta martha martina mary matilda maya meg mei melanie melissa mercedes mercy meredith mia michelle "
    "mila mina mira miriam molly mona monica monika nadia nadine nancy naomi natalia natalie natasha neha "
    "ngozi niamh nicole nina nisha noor nora nour nuria ofelia oksana olga olivia paloma pam pamela patricia "
    "paula pauline peggy penelope petra phoebe pilar pooja priscilla priya rachel rania rebecca regina "
    "renata renee rita roberta rosa rosalind rose rosie roxana ruth sabine sabrina sadia sakura sally "
    "samantha samira sandra sanjana saoirse sara sarah selena serena shanice shannon sharon sheila shirley "
    "shreya silvia simone siobhan sofia sonia sophia sophie stacy stella steph stephanie sue sunita susan "
    "susanna suzanne svetlana sylvia tamara tanya tara tatiana teresa tessa tina tracy ulrike uma ursula "
    "valentina valerie vanessa vera veronica vicky victoria violet virginia vivian wanda wanjiru wendy wilma "
    "yasmin yolanda yuki yuko yvonne zahra zainab zeynep zoe zofia zuzanna"
)
_MALE = (
    "aaron abdul abdullah abebe abraham adam adebayo ahmad ahmed akira al alan albert alberto alejandro "
    "alessandro alfred ali allan alvaro amir amit anders andre andreas andrei andrew andy angelo anthony "
    "anton antonio archie ari arjun armando arnold arthur arturo arun ashok asif babajide barry bart ben "
    "benjamin bernard bernd bill bjorn bob boris brad bradley brandon brendan brian bruce bruno bryan calvin "
    "carl carlos cedric cesar charles chen chidi chinedu chris christian christopher ciaran claude claus "
    "clement clive colin connor craig curtis cyril damian dan daniel danny darius darren dave david dean "
    "deepak dennis derek diego dieter dimitri dirk dmitri dmitry dominic don donald doug douglas duncan "
    "dylan ed eddie edgar eduardo edward edwin elias elijah eliot elliot emeka emil emilio emmanuel emre "
    "enrique eric erik ernest ernesto ethan eugene evan fabian fabio farid felipe felix fernando finn "
    "florian francesco francis francisco francois frank franz fred frederick friedrich fritz gabe gabriel "
    "gareth gary gavin geoff geoffrey george gerald gerard gerhard giorgio giovanni giuseppe glen glenn "
    "gonzalo gordon graham greg gregory guido guillaume gunter gus gustavo guy hamid hamza hank hans harald "
    "harold harry harsh hassan hector heinrich heinz helmut henrik henry herbert hideo hiro hiroshi horst "
    "howard hugh hugo husain hussein ian ibrahim ignacio igor ilya imran isaac ismail ivan ivo jack jacob "
    "jaime jake jakob jakub jamal james jan jared jason javier jay jean-luc jeff jeffrey jens jeremy jerome "
    "jerry jesus jim jimmy jin joao joaquin joe joel joey johan johann johannes john johnny jon jonas "
    "jonathan jordi jorge jose josef joseph josh joshua juan juha julian julien julio jun jurgen justin "
    "kaito kamal karim karl keith ken kenji kenneth kevin khalid klaus kofi kumar kurt kwame kyle larry lars "
    "laurent lawrence leif len leo leon leonard leonardo leroy lewis liam lionel lorenzo louis luca lucas "
    "ludwig luigi luis luka lukas lukasz luke maarten magnus malcolm manuel marc marcel marcelo marco marcos "
    "marcus marek mario marius mark markus martin marvin mathieu matt matteo matthew matthias maurice "
    "mauricio max maxim maximilian mehmet michael michal michel miguel mike mikhail milan milos mitchell "
    "mohamed mohammad mohammed moses muhammad murat mustafa nabil nate nathan nathaniel naveen neil nelson "
    "nicholas nick nicolas niels nigel nikhil niklas nikola nikolai nils noah noel norman oleg oliver "
    "olivier omar omer oscar oskar osman otto owen pablo paolo pascal patrick paul pavel pawel pedro pekka "
    "per pete peter phil philip philipp philippe pierre piotr rafael rahul raj rajesh ralf ralph ramon randy "
    "rashid raul ravi ray raymond reinhard rene ricardo richard rick rob robert roberto rodrigo roger rohan "
    "roland rolf roman ron ronald ross roy rudolf rui rupert russell ryan sachin salman salvador samuel "
    "sandeep sanjay santiago satoshi scott sean sebastian sergei sergey sergio seth shawn sid siddharth "
    "simon sipho stan stanley stefan stefano stephen steve steven stuart sunil suresh sven takeshi tariq ted "
    "teodor terry thabo theo theodore thomas thorsten tim timo timothy tobias todd tom tomas tomasz tommy "
    "tony travis trevor tristan tunde tyler umar umberto vadim vasily victor vijay vikram viktor vince "
    "vincent vinod vito vladimir wade walter warren wei wesley wilhelm will willem william winston wolfgang "
    "xavier yannick yaroslav yasin youssef yuri yusuf yves zach zachary zeke zoltan"
)
_EITHER = (
    "alex alexis andrea ariel avery bailey blake cameron casey charlie chidera dakota dana drew eden emerson "
    "frankie hayden hyun-woo jamie jean jesse jo jordan jude jules kai kerry kim lee leslie li logan min "
    "min-jun morgan nguyen nicky pat quinn riley robin rowan sacha sam sasha shay sidney skyler sol taylor "
    "tran xiao yu"
)
_ALSO_WORDS = (
    "april aurora bailey bill carol christian clement daisy dakota dean don drew ed eden eve faith flora "
    "florence frank georgia grace guy harsh heather iris jack jan jasmine jean jo jordan joy jun lee lily "
    "logan luna marina mark max mercedes mercy min pat per ray regina rob robin roman rose ross sid sol stan "
    "sue victoria violet virginia wade will yu"
)
_OPENING = (
    "absolutely actually add after ah aha also although anyone anything anyway apparently apply are ask "
    "attached attendees awesome because best book both bring bump but buy bye call can candidates cc change "
    "check cheers cities clear close come commit compare congrats congratulations contact cool copy create "
    "dear definitely delete deploy did docs does don't edit email everybody everyone everything exactly "
    "excited explain fix files find finally first follow for forget forward from fun get give glad go good "
    "goodbye got great guess haha happy has have hello help here hey hi hmm honestly hope how however i'd "
    "i'll i'm i've if install instead interesting invite is it's join just keep kudos last later let let's "
    "like listen look lots love lovely make many maybe meanwhile meet meeting merge met more most move my "
    "need never next nice no nobody note nothing now oh ok okay omg once one only oops open options or our "
    "perhaps ping please plus pls probably push put read really regarding regards remember remind remove "
    "rename rent replace reply report revert review reviewers right run same say schedule second see send "
    "set share should show since sincerely so some somebody someone something sometimes sorry sounds start "
    "still stop subject sure take talk tell test thank thanks that's then there there's they're third this "
    "today today's totally true try two uh update urgent use very visit wait watch we we'll we're we've well "
    "what what's whatever when where where's while who who's whose why will wish without wonderful work wow "
    "write yay yeah yep yes yet you you're your yup"
)
_KIN = (
    "aunt boyfriend brother cousin dad daughter father fiance fiancee friend friends girlfriend grandma "
    "grandmother grandpa grandson husband mom mother mum nephew niece pal roommate sister son uncle wife"
)
_ROLES = (
    "accountant actor analyst architect artist assistant author boss buddy ceo cfo chef classmate coach "
    "colleague coworker cto customer dean dentist designer developer director doctor driver editor engineer "
    "founder guitarist intern investor journalist judge lawyer leader manager mayor mentor minister neighbor "
    "neighbour nurse officer owner painter partner photographer president professor recruiter salesman "
    "scientist secretary singer student supervisor teacher teammate tester therapist trainer tutor vet "
    "volunteer waiter writer"
)
_ADDRESSING = (
    "am ask asked asking bye call called calling cc cheers congratulate dear goodbye greet hello hey hi hire "
    "hired i'm invite invited love marry meet meeting met named ping pinged regards remind reminded replied "
    "said says sincerely tell telling text texted thank thanks told with"
)
_ACTING = (
    "asked asks became believes bought brought called came comes decided drives drove eats feels felt forgot "
    "found gave gets goes got has hates joined knew knows left likes lives loves made makes married met "
    "moved needs paid plans said saw says sent spoke started stayed thinks thought told took tries wants was "
    "went will wishes won works wrote"
)
_MOVING = "back been drive drove flew flight fly flying go going move moved moving train trip went"
_BETWEEN_NAMES = "al bin da das de del den der di do dos du el ibn la le ter van von y"
_ADDRESSED_AS = {
    "male": "mr mister sir uncle father brother king prince herr monsieur senor",
    "female": "mrs ms miss madam aunt auntie mother sister queen princess frau madame senora",
    "": "dr doctor prof professor coach captain president judge senator chancellor minister chef pastor "
    "rabbi imam sergeant lieutenant colonel general officer detective nurse dean",
}

GENDERS: dict[str, str] = {
    **dict.fromkeys(_FEMALE.split(), "female"),
    **dict.fromkeys(_MALE.split(), "male"),
    **dict.fromkeys(_EITHER.split(), ""),
}
"""Given names, and whom they mostly name: `female`, `male`, or empty where it can be anyone."""

ALSO_WORDS = frozenset(_ALSO_WORDS.split())
"""Given names that are plain words as well."""

TITLES = {title: gender for gender, titles in _ADDRESSED_AS.items() for title in titles.split()}
"""Forms of address, and the gender of those who are addressed so."""

PARTICLES = frozenset(_BETWEEN_NAMES.split())
KIN_AND_ROLES = frozenset(f"{_KIN} {_ROLES}".split())
BEFORE_PERSON = KIN_AND_ROLES | frozenset(_ADDRESSING.split())
AFTER_PERSON = frozenset(_ACTING.split())
CAPITALISED_AT_START = STOPWORDS | frozenset(_OPENING.split())
"""Words that have a capital only because a sentence begins with them."""

# Places, organisations and things -------------------------------------------------------------------------

BEFORE_ORGANISATION = frozenset({"at", "joined", "join", "joining"})
WORKING = frozenset({"work", "works", "worked", "working", "job", "hired", "employed", "head", "ceo", "cto"})
BEFORE_PLACE = frozenset({"in", "near", "visit", "visited", "visiting", "around", "across", "leave", "left"})
MOVING = frozenset(_MOVING.split())
PLACES = _split_at_commas(
    """afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bangladesh, belarus,
    belgium, bolivia, bosnia, botswana, brazil, bulgaria, burundi, cambodia, cameroon, canada, chad, chile,
    china, colombia, congo, costa rica, croatia, cuba, cyprus, czechia, denmark, dominican republic,
    ecuador, egypt, el salvador, england, eritrea, estonia, ethiopia, finland, france, georgia, germany,
    ghana, greece, guatemala, guinea, haiti, honduras, hungary, iceland, india, indonesia, iran, iraq,
    ireland, israel, italy, ivory coast, jamaica, japan, jordan, kazakhstan, kenya, kosovo, kuwait, laos,
    latvia, lebanon, liberia, libya, lithuania, luxembourg, madagascar, malawi, malaysia, mali, malta,
    mexico, moldova, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands, new
    zealand, nicaragua, niger, nigeria, north korea, norway, oman, pakistan, palestine, panama, paraguay,
    peru, philippines, poland, portugal, qatar, romania, russia, rwanda, saudi arabia, scotland, senegal,
    serbia, sierra leone, singapore, slovakia, slovenia, somalia, south africa, south korea, spain, sri
    lanka, sudan, sweden, switzerland, syria, taiwan, tanzania, thailand, tibet, togo, tunisia, turkey,
    uganda, ukraine, united kingdom, united states, uruguay, uzbekistan, venezuela, vietnam, wales, yemen,
    zambia, zimbabwe, uk, usa, us, u.s, uae, europe, asia, africa, america, north america, south america,
    latin america, antarctica, oceania, scandinavia, middle east, balkans, caribbean, aberdeen, abu dhabi,
    abuja, accra, addis ababa, adelaide, alexandria, algiers, almaty, amman, amsterdam, ankara, antwerp,
    athens, atlanta, auckland, austin, baghdad, baku, bali, baltimore, bangalore, bangkok, barcelona,
    basel, beijing, beirut, belfast, belgrade, berlin, bern, birmingham, bogota, bologna, bombay, bonn,
    bordeaux, boston, brasilia, bratislava, brisbane, bristol, brooklyn, bruges, brussels, bucharest,
    budapest, buenos aires, cairo, calgary, cambridge, canberra, cape town, caracas, cardiff, casablanca,
    charlotte, chennai, chicago, cleveland, cologne, colombo, copenhagen, cork, dakar, dallas, damascus,
    dar es salaam, delhi, denver, detroit, dhaka, doha, dortmund, dresden, dubai, dublin, durban,
    dusseldorf, edinburgh, essen, fez, florence, frankfurt, fukuoka, galway, gdansk, geneva, genoa, ghent,
    glasgow, gothenburg, graz, guadalajara, guangzhou, hamburg, hangzhou, hannover, hanoi, harare, havana,
    heidelberg, helsinki, ho chi minh city, hong kong, honolulu, houston, hyderabad, innsbruck, islamabad,
    istanbul, jakarta, jerusalem, johannesburg, kabul, kampala, karachi, kathmandu, kharkiv, kiev, kigali,
    kinshasa, kolkata, krakow, kuala lumpur, kyiv, kyoto, lagos, lahore, las vegas, lausanne, leeds,
    leipzig, leuven, lima, lisbon, liverpool, ljubljana, london, los angeles, luanda, lusaka, lyon, madrid,
    malaga, manchester, manhattan, manila, maputo, marrakesh, marseille, medellin, melbourne, memphis,
    miami, milan, milwaukee, minneapolis, minsk, mombasa, montevideo, montreal, moscow, mumbai, munich,
    nagoya, nairobi, nantes, naples, nashville, new delhi, new orleans, new york, new york city, newcastle,
    nice, nottingham, nuremberg, odesa, odessa, orlando, osaka, oslo, ottawa, oxford, palermo, panama city,
    paris, perth, philadelphia, phoenix, pittsburgh, porto, portland, prague, pretoria, pune, quebec,
    quito, reykjavik, riga, rio de janeiro, riyadh, rome, rotterdam, sacramento, saigon, salzburg, san
    antonio, san diego, san francisco, san jose, santiago, sao paulo, sapporo, sarajevo, seattle, seoul,
    seville, shanghai, sheffield, shenzhen, skopje, sofia, st louis, stockholm, strasbourg, stuttgart,
    sydney, taipei, tallinn, tampa, tbilisi, tehran, tel aviv, tijuana, tokyo, toronto, toulouse, trieste,
    tripoli, tunis, turin, utrecht, valencia, vancouver, venice, verona, vienna, vilnius, warsaw,
    washington, washington dc, wellington, wuhan, yerevan, yokohama, zagreb, zurich, alabama, alaska,
    alberta, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho,
    illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan,
    minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico,
    ohio, oklahoma, ontario, oregon, pennsylvania, rhode island, south carolina, north carolina, tennessee,
    texas, utah, vermont, virginia, wisconsin, wyoming, bavaria, catalonia, tuscany, sicily, sardinia,
    corsica, crete, kerala, punjab, gujarat, siberia, crimea, provence, normandy, andalusia, silicon
    valley, wall street, hollywood, alps, andes, himalayas, rockies, danube, rhine, nile, amazon river,
    thames, seine, sahara, pacific, atlantic, mediterranean, heathrow, gatwick, soho, harlem, queens,
    bronx, bay area, midwest, yellowstone, yosemite"""
)
ORGANISATIONS = _split_at_commas(
    """accenture, adidas, adobe, adyen, airbnb, airbus, alibaba, allianz, alphabet, amazon, amd, anthropic,
    apple, audi, basf, bayer, bbc, blackrock, bloomberg, bmw, boeing, bosch, cern, cia, cisco, citigroup,
    cnn, coca-cola, costco, daimler, deepmind, dell, deloitte, deutsche bank, deutsche telekom, dhl,
    disney, ebay, ericsson, esa, exxon, facebook, fbi, fedex, ferrari, fiat, flutterwave, ford motor,
    general electric, general motors, goldman sachs, google, gsk, hewlett packard, hitachi, honda, hsbc,
    huawei, hugging face, hyundai, ibm, ieee, ikea, imf, infosys, intel, jpmorgan, kpmg, lego, lenovo, lg,
    linkedin, lockheed martin, lufthansa, lyft, mastercard, mcdonald's, mckinsey, mercedes-benz, meta,
    microsoft, mit, mitsubishi, morgan stanley, mozilla, nasa, nato, nestle, netflix, nhs, nike, nintendo,
    nissan, nokia, novartis, nvidia, nyu, oecd, openai, opec, oracle, oxfam, panasonic, paypal, pepsi,
    pfizer, philips, pinterest, porsche, pwc, qualcomm, reddit, red cross, red hat, renault, reuters,
    revolut, roche, ryanair, salesforce, samsung, sap, shell, shopify, siemens, snapchat, sony, spacex,
    spotify, starbucks, stripe, target, tata, tencent, tesla, tiktok, toshiba, toyota, twilio, twitter,
    uber, ubs, ucla, un, unesco, unicef, unilever, united nations, vodafone, volkswagen, volvo, walmart,
    whatsapp, wikipedia, wipro, world bank, world health organization, xiaomi, yahoo, youtube, zalando,
    european union, european commission, white house, supreme court"""
)
THINGS = _split_at_commas(
    """airflow, android, angular, ansible, apache, asp.net, aws, azure, bash, bigquery, bitbucket, blender,
    cassandra, celery, chatgpt, chrome, chromium, circleci, clickhouse, cloudflare, cobol, confluence, css,
    dart, datadog, debian, deno, discord, django, docker, docker compose, dropbox, duckdb, dynamodb,
    elasticsearch, elixir, erlang, excel, express, express.js, fastapi, fedora, figma, firefox, flask,
    flutter, fortran, gcp, gemini, git, github, github actions, gitlab, gmail, golang, google maps, google
    docs, gradle, grafana, graphql, grpc, hadoop, haskell, helm, heroku, html, instagram, ios, ipad,
    iphone, java, javascript, jenkins, jest, jira, jquery, julia, jupyter, kafka, keras, kibana, kotlin,
    kubernetes, langchain, laravel, linux, lua, macbook, macos, mariadb, maven, memcached, minecraft,
    mongodb, mysql, neo4j, next.js, nginx, node, node.js, notion, npm, numpy, nuxt, opencv, opensearch,
    outlook, pandas, perl, photoshop, php, playstation, postgres, postgresql, power bi, powerpoint,
    powershell, prometheus, pydantic, pytest, python, pytorch, qt, rabbitmq, rails, raspberry pi, react,
    react native, redis, redux, ruby, rust, safari, scala, scikit-learn, selenium, sentry, sharepoint,
    skype, slack, snowflake, solr, spark, spring boot, sqlite, stack overflow, svelte, swift, tableau,
    tailwind, teams, telegram, tensorflow, terraform, three.js, trello, typescript, ubuntu, unix, vercel,
    vim, visual studio, vs code, vscode, vue, vue.js, webpack, windows, wordpress, xbox, zapier, zoom,
    zookeeper"""
)
ALSO_PLAIN = _split_at_commas(
    """turkey, china, chad, jordan, georgia, nice, cork, essen, phoenix, orlando, reading, mobile, bath, us,
    fez, charlotte, florence, virginia, santiago, sofia, austin, queens, alexandria, victoria, oxford,
    cambridge, atlantic, pacific, shell, target, meta, apple, amazon, sap, un, intel, oracle, tesla, mit,
    ford motor, alphabet, lima, lego, dell, express, teams, excel, node, spark, swift, rust, ruby, julia,
    rails, helm, flask, react, dart, go, slack, zoom, notion, windows, safari, maven, celery, sentry,
    apache, android, blender, discord, git, gemini, perl, outlook, telegram, jest, bash, css, html, npm,
    grpc, php, spring boot, qt, vim, chrome, java, lua, solr, scala, unix, ios, snowflake, tableau, python,
    milan, perth, bonn, guinea, mali, niger, oman, pune, wales, bologna, bern, ghent, doha, memphis,
    newcastle, odessa, paris, valencia, verona, san jose, san antonio, maine, alps, cologne"""
)
"""Names that mean something else without a capital: a bird, a verb, a given name."""

ORGANISATION_ENDINGS = _split_at_commas(
    """inc, ltd, llc, llp, plc, corp, co, gmbh, ag, kg, se, sa, srl, spa, bv, nv, oy, ab, pty, pte, sarl, kk,
    corporation, company, limited, incorporated, holdings, holding, group, partners, ventures, capital,
    industries, enterprises, technologies, technology, systems, solutions, software, labs, laboratories,
    studios, media, press, bank, insurance, airlines, airways, motors, pharma, pharmaceuticals, energy,
    telecom, telekom, foundation, institute, university, college, school, academy, hospital, clinic,
    museum, library, church, association, society, club, union, federation, council, committee, commission,
    ministry, department, agency, authority, organization, organisation, party, team, orchestra, theatre,
    theater, restaurant, bakery, cafe, services, consulting, logistics, electronics, sons, brothers, bros,
    associates, coalition, alliance, league, network"""
)
ORGANISATION_HEADS = _split_at_commas(
    """university, bank, ministry, department, institute, college, museum, church, academy, bureau, office,
    society"""
)
PLACE_ENDINGS = _split_at_commas(
    """street, st, avenue, ave, road, rd, lane, boulevard, blvd, square, plaza, bridge, airport, station,
    river, lake, falls, beach, bay, island, islands, mountain, mountains, valley, canyon, desert, forest,
    park, garden, gardens, county, city, village, district, province, peninsula, coast, ocean, sea,
    harbour, harbor, castle, palace, cathedral, hotel, tower, stadium, springs, hills, heights, creek,
    glacier, pass"""
)
ALSO_FAMILIES = _split_at_commas(
    "bay, beach, bridge, castle, coast, forest, garden, hills, lake, lane, park, street"
)
"""Endings of places that are family names as well."""

PLACE_BEGINNINGS = _split_at_commas(
    "lake, mount, mt, cape, fort, port, gulf, isle, san, santa, saint, st, lago, rio"
)
DEMONYMS = _split_at_commas(
    """african, american, arabic, arab, argentinian, asian, australian, austrian, belgian, brazilian, british,
    bulgarian, canadian, cantonese, catholic, chinese, christian, colombian, croatian, czech, danish,
    dutch, egyptian, english, ethiopian, european, finnish, french, german, greek, hebrew, hindi, hindu,
    hungarian, indian, indonesian, iranian, irish, islamic, israeli, italian, japanese, jewish, korean,
    latin, latino, mandarin, mexican, mongolian, moroccan, muslim, nigerian, norwegian, persian, polish,
    portuguese, protestant, romanian, russian, scandinavian, scottish, serbian, spanish, swahili, swedish,
    swiss, syrian, tamil, thai, tibetan, turkish, ukrainian, urdu, vietnamese, welsh, buddhist, roman,
    western, eastern, northern, southern, global, internet, god, bible, quran"""
)
"""Peoples, languages and faiths: capitalised, and no names."""
