"""What the world calls its places, its organisations and its tools: short lists, and the words beside names.

Knows the common only. What is not listed is told by its shape and by its surroundings, or not at all. Every
entry is folded; a name of several words is joined by single spaces.
"""

from __future__ import annotations


def _entries(text: str) -> frozenset[str]:
    """The entries between the commas."""
    return frozenset(" ".join(entry.split()) for entry in text.split(","))


PLACES = _entries(
    """afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bangladesh,
    belarus, belgium, bolivia, bosnia, botswana, brazil, bulgaria, burundi, cambodia, cameroon, canada,
    chad, chile, china, colombia, congo, costa rica, croatia, cuba, cyprus, czechia, denmark, dominican
    republic, ecuador, egypt, el salvador, england, eritrea, estonia, ethiopia, finland, france,
    georgia, germany, ghana, greece, guatemala, guinea, haiti, honduras, hungary, iceland, india,
    indonesia, iran, iraq, ireland, israel, italy, ivory coast, jamaica, japan, jordan, kazakhstan,
    kenya, kosovo, kuwait, laos, latvia, lebanon, liberia, libya, lithuania, luxembourg, madagascar,
    malawi, malaysia, mali, malta, mexico, moldova, mongolia, montenegro, morocco, mozambique, myanmar,
    namibia, nepal, netherlands, new zealand, nicaragua, niger, nigeria, north korea, norway, oman,
    pakistan, palestine, panama, paraguay, peru, philippines, poland, portugal, qatar, romania, russia,
    rwanda, saudi arabia, scotland, senegal, serbia, sierra leone, singapore, slovakia, slovenia,
    somalia, south africa, south korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan,
    tanzania, thailand, tibet, togo, tunisia, turkey, uganda, ukraine, united kingdom, united states,
    uruguay, uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe, uk, usa, us, u.s, uae,
    europe, asia, africa, america, north america, south america, latin america, antarctica, oceania,
    scandinavia, middle east, balkans, caribbean, aberdeen, abu dhabi, abuja, accra, addis ababa,
    adelaide, alexandria, algiers, almaty, amman, amsterdam, ankara, antwerp, athens, atlanta, auckland,
    austin, baghdad, baku, bali, baltimore, bangalore, bangkok, barcelona, basel, beijing, beirut,
    belfast, belgrade, berlin, bern, birmingham, bogota, bologna, bombay, bonn, bordeaux, boston,
    brasilia, bratislava, brisbane, bristol, brooklyn, bruges, brussels, bucharest, budapest, buenos
    aires, cairo, calgary, cambridge, canberra, cape town, caracas, cardiff, casablanca, charlotte,
    chennai, chicago, cleveland, cologne, colombo, copenhagen, cork, dakar, dallas, damascus, dar es
    salaam, delhi, denver, detroit, dhaka, doha, dortmund, dresden, dubai, dublin, durban, dusseldorf,
    edinburgh, essen, fez, florence, frankfurt, fukuoka, galway, gdansk, geneva, genoa, ghent, glasgow,
    gothenburg, graz, guadalajara, guangzhou, hamburg, hangzhou, hannover, hanoi, harare, havana,
    heidelberg, helsinki, ho chi minh city, hong kong, honolulu, houston, hyderabad, innsbruck,
    islamabad, istanbul, jakarta, jerusalem, johannesburg, kabul, kampala, karachi, kathmandu, kharkiv,
    kiev, kigali, kinshasa, kolkata, krakow, kuala lumpur, kyiv, kyoto, lagos, lahore, las vegas,
    lausanne, leeds, leipzig, leuven, lima, lisbon, liverpool, ljubljana, london, los angeles, luanda,
    lusaka, lyon, madrid, malaga, manchester, manhattan, manila, maputo, marrakesh, marseille, medellin,
    melbourne, memphis, miami, milan, milwaukee, minneapolis, minsk, mombasa, montevideo, montreal,
    moscow, mumbai, munich, nagoya, nairobi, nantes, naples, nashville, new delhi, new orleans, new
    york, new york city, newcastle, nice, nottingham, nuremberg, odesa, odessa, orlando, osaka, oslo,
    ottawa, oxford, palermo, panama city, paris, perth, philadelphia, phoenix, pittsburgh, porto,
    portland, prague, pretoria, pune, quebec, quito, reykjavik, riga, rio de janeiro, riyadh, rome,
    rotterdam, sacramento, saigon, salzburg, san antonio, san diego, san francisco, san jose, santiago,
    sao paulo, sapporo, sarajevo, seattle, seoul, seville, shanghai, sheffield, shenzhen, skopje, sofia,
    st louis, stockholm, strasbourg, stuttgart, sydney, taipei, tallinn, tampa, tbilisi, tehran, tel
    aviv, tijuana, tokyo, toronto, toulouse, trieste, tripoli, tunis, turin, utrecht, valencia,
    vancouver, venice, verona, vienna, vilnius, warsaw, washington, washington dc, wellington, wuhan,
    yerevan, yokohama, zagreb, zurich, alabama, alaska, alberta, arizona, arkansas, california,
    colorado, connecticut, delaware, florida, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky,
    louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri, montana,
    nebraska, nevada, new hampshire, new jersey, new mexico, ohio, oklahoma, ontario, oregon,
    pennsylvania, rhode island, south carolina, north carolina, tennessee, texas, utah, vermont,
    virginia, wisconsin, wyoming, bavaria, catalonia, tuscany, sicily, sardinia, corsica, crete, kerala,
    punjab, gujarat, siberia, crimea, provence, normandy, andalusia, silicon valley, wall street,
    hollywood, alps, andes, himalayas, rockies, danube, rhine, nile, amazon river, thames, seine,
    sahara, pacific, atlantic, mediterranean, heathrow, gatwick, soho, harlem, queens, bronx, bay area,
    midwest, yellowstone, yosemite"""
)

ORGANISATIONS = _entries(
    """accenture, adidas, adobe, adyen, airbnb, airbus, alibaba, allianz, alphabet, amazon, amd,
    anthropic, apple, audi, basf, bayer, bbc, blackrock, bloomberg, bmw, boeing, bosch, cern, cia,
    cisco, citigroup, cnn, coca-cola, costco, daimler, deepmind, dell, deloitte, deutsche bank, deutsche
    telekom, dhl, disney, ebay, ericsson, esa, exxon, facebook, fbi, fedex, ferrari, fiat, flutterwave,
    ford motor, general electric, general motors, goldman sachs, google, gsk, hewlett packard, hitachi,
    honda, hsbc, huawei, hugging face, hyundai, ibm, ieee, ikea, imf, infosys, intel, jpmorgan, kpmg,
    lego, lenovo, lg, linkedin, lockheed martin, lufthansa, lyft, mastercard, mcdonald's, mckinsey,
    mercedes-benz, meta, microsoft, mit, mitsubishi, morgan stanley, mozilla, nasa, nato, nestle,
    netflix, nhs, nike, nintendo, nissan, nokia, novartis, nvidia, nyu, oecd, openai, opec, oracle,
    oxfam, panasonic, paypal, pepsi, pfizer, philips, pinterest, porsche, pwc, qualcomm, reddit, red
    cross, red hat, renault, reuters, revolut, roche, ryanair, salesforce, samsung, sap, shell, shopify,
    siemens, snapchat, sony, spacex, spotify, starbucks, stripe, target, tata, tencent, tesla, tiktok,
    toshiba, toyota, twilio, twitter, uber, ubs, ucla, un, unesco, unicef, unilever, united nations,
    vodafone, volkswagen, volvo, walmart, whatsapp, wikipedia, wipro, world bank, world health
    organization, xiaomi, yahoo, youtube, zalando, european union, european commission, white house,
    supreme court"""
)

THINGS = _entries(
    """airflow, android, angular, ansible, apache, asp.net, aws, azure, bash, bigquery, bitbucket,
    blender, cassandra, celery, chatgpt, chrome, chromium, circleci, clickhouse, cloudflare, cobol,
    confluence, css, dart, datadog, debian, deno, discord, django, docker, docker compose, dropbox,
    duckdb, dynamodb, elasticsearch, elixir, erlang, excel, express, express.js, fastapi, fedora, figma,
    firefox, flask, flutter, fortran, gcp, gemini, git, github, github actions, gitlab, gmail, golang,
    google maps, google docs, gradle, grafana, graphql, grpc, hadoop, haskell, helm, heroku, html,
    instagram, ios, ipad, iphone, java, javascript, jenkins, jest, jira, jquery, julia, jupyter, kafka,
    keras, kibana, kotlin, kubernetes, langchain, laravel, linux, lua, macbook, macos, mariadb, maven,
    memcached, minecraft, mongodb, mysql, neo4j, next.js, nginx, node, node.js, notion, npm, numpy,
    nuxt, opencv, opensearch, outlook, pandas, perl, photoshop, php, playstation, postgres, postgresql,
    power bi, powerpoint, powershell, prometheus, pydantic, pytest, python, pytorch, qt, rabbitmq,
    rails, raspberry pi, react, react native, redis, redux, ruby, rust, safari, scala, scikit-learn,
    selenium, sentry, sharepoint, skype, slack, snowflake, solr, spark, spring boot, sqlite, stack
    overflow, svelte, swift, tableau, tailwind, teams, telegram, tensorflow, terraform, three.js,
    trello, typescript, ubuntu, unix, vercel, vim, visual studio, vs code, vscode, vue, vue.js, webpack,
    windows, wordpress, xbox, zapier, zoom, zookeeper"""
)

ALSO_PLAIN = _entries(
    """turkey, china, chad, jordan, georgia, nice, cork, essen, phoenix, orlando, reading, mobile, bath,
    us, fez, charlotte, florence, virginia, santiago, sofia, austin, queens, alexandria, victoria,
    oxford, cambridge, atlantic, pacific, shell, target, meta, apple, amazon, sap, un, intel, oracle,
    tesla, mit, ford motor, alphabet, lima, lego, dell, express, teams, excel, node, spark, swift, rust,
    ruby, julia, rails, helm, flask, react, dart, go, slack, zoom, notion, windows, safari, maven,
    celery, sentry, apache, android, blender, discord, express, git, gemini, perl, outlook, telegram,
    jest, bash, css, html, npm, grpc, php, spring boot, qt, vim, chrome, java, lua, solr, scala, unix,
    ios, snowflake, tableau, python, essen, milan, perth, bonn, guinea, mali, niger, oman, pune, wales,
    bologna, bern, ghent, doha, memphis, newcastle, odessa, paris, valencia, verona, san jose, san
    antonio, maine, alps, cologne"""
)
"""Names that mean something else without a capital: a bird, a verb, a given name."""

ORGANISATION_ENDINGS = _entries(
    """inc, ltd, llc, llp, plc, corp, co, gmbh, ag, kg, se, sa, srl, spa, bv, nv, oy, ab, pty, pte,
    sarl, kk, corporation, company, limited, incorporated, holdings, holding, group, partners, ventures,
    capital, industries, enterprises, technologies, technology, systems, solutions, software, labs,
    laboratories, studios, media, press, bank, insurance, airlines, airways, motors, pharma,
    pharmaceuticals, energy, telecom, telekom, foundation, institute, university, college, school,
    academy, hospital, clinic, museum, library, church, association, society, club, union, federation,
    council, committee, commission, ministry, department, agency, authority, organization, organisation,
    party, team, orchestra, theatre, theater, restaurant, bakery, cafe, services, consulting, logistics,
    electronics, sons, brothers, bros, associates, coalition, alliance, league, network"""
)
ORGANISATION_HEADS = _entries(
    """university, bank, ministry, department, institute, college, museum, church, academy, bureau, office,
    society"""
)
PLACE_ENDINGS = _entries(
    """street, st, avenue, ave, road, rd, lane, boulevard, blvd, square, plaza, bridge, airport,
    station, river, lake, falls, beach, bay, island, islands, mountain, mountains, valley, canyon,
    desert, forest, park, garden, gardens, county, city, village, district, province, peninsula, coast,
    ocean, sea, harbour, harbor, castle, palace, cathedral, hotel, tower, stadium, springs, hills,
    heights, creek, glacier, pass"""
)
ALSO_FAMILIES = _entries("bay, beach, bridge, castle, coast, forest, garden, hills, lake, lane, park, street")
"""Endings of places that are family names as well."""

PLACE_BEGINNINGS = _entries("lake, mount, mt, cape, fort, port, gulf, isle, san, santa, saint, st, lago, rio")

DEMONYMS = _entries(
    """african, american, arabic, arab, argentinian, asian, australian, austrian, belgian, brazilian,
    british, bulgarian, canadian, cantonese, catholic, chinese, christian, colombian, croatian, czech,
    danish, dutch, egyptian, english, ethiopian, european, finnish, french, german, greek, hebrew,
    hindi, hindu, hungarian, indian, indonesian, iranian, irish, islamic, israeli, italian, japanese,
    jewish, korean, latin, latino, mandarin, mexican, mongolian, moroccan, muslim, nigerian, norwegian,
    persian, polish, portuguese, protestant, romanian, russian, scandinavian, scottish, serbian,
    spanish, swahili, swedish, swiss, syrian, tamil, thai, tibetan, turkish, ukrainian, urdu,
    vietnamese, welsh, buddhist, roman, western, eastern, northern, southern, global, internet, god,
    bible, quran"""
)
"""Peoples, tongues and faiths: capitalised, and no names of anything."""
